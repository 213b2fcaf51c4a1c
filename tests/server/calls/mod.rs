//! Random calls, valid and not, generated from bytes.
//!
//! | module | generates |
//! |---|---|
//! | [`words`] | arguments |
//! | [`redisbloom`], [`cuckoo`] | calls of the commands that RedisBloom has, for both modules |
//! | [`own`] | these with further options, calls of the other commands, and damaged bytes |
//!
//! `life::strangers` sends them beside the lives of filters, `redisbloom_live::random` to
//! RedisBloom and Bloomline at once.

pub mod cuckoo;
pub mod own;
pub mod redisbloom;
pub mod words;

/// A family of filters, whose commands have the same names after different prefixes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    /// Bloom filters, commands BF.*
    Bloom,
    /// Cuckoo filters, commands CF.*
    Cuckoo,
}

impl Family {
    /// The family of a command; none of a command of the server.
    pub fn of(command: &[u8]) -> Option<Self> {
        match command.get(..3)?.to_ascii_uppercase().as_slice() {
            b"BF." => Some(Self::Bloom),
            b"CF." => Some(Self::Cuckoo),
            _ => None,
        }
    }

    /// A command that both families have, such as `INFO`, with its prefix.
    pub fn command(self, name: &str) -> Vec<u8> {
        match self {
            Self::Bloom => format!("BF.{name}").into_bytes(),
            Self::Cuckoo => format!("CF.{name}").into_bytes(),
        }
    }
}
