//! Items packed in one string, as BF.BULKADD and BF.BULKEXISTS take them.

use redis::{Cmd, cmd};

use crate::items::{Item, Kind};

/// Items per packed call.
pub const PACKED_BATCH: u64 = 50_000;

/// How items are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Fixed,
    Prefixed,
    Lines,
}

impl Form {
    pub const ALL: [Form; 3] = [Form::Fixed, Form::Prefixed, Form::Lines];

    /// The name in the commands.
    pub fn name(self) -> &'static str {
        match self {
            Form::Fixed => "FIXED",
            Form::Prefixed => "PREFIXED",
            Form::Lines => "LINES",
        }
    }

    /// Packs items.
    pub fn pack(self, kind: Kind, items: impl Iterator<Item = Item>) -> Vec<u8> {
        let (mut data, mut buffer) = (Vec::new(), Vec::new());
        for item in items {
            kind.write(item, &mut buffer);
            if self == Form::Prefixed {
                data.extend((buffer.len() as u32).to_le_bytes());
            }
            data.extend(&buffer);
            if self == Form::Lines {
                data.push(b'\n');
            }
        }
        data
    }

    /// A call of `command` with packed items, which replies with a bitmap.
    pub fn call(self, command: &str, key: &str, kind: Kind, data: &[u8]) -> Cmd {
        let mut call = cmd(command);
        call.arg(key).arg(self.name());
        if self == Form::Fixed {
            call.arg(kind.bytes());
        }
        call.arg(data);
        call
    }
}
