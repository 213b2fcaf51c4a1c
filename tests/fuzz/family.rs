//! The two families of filters, whose commands have the same names after different prefixes.

/// A family of filters.
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
