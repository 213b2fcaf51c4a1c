//! A model of a server with valkey-bloom that follows a primary, and writes an append-only file.

use std::collections::BTreeMap;

use bloomline_reference::payload::Payload;
use bloomline_reference::valkey::Model;

/// A command and its arguments.
type Command = Vec<Vec<u8>>;

/// The release of valkey-bloom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// 1.0.1: a call inserts the items for which there is room.
    Current,
    /// A later one, of which no more is assumed than that it inserts all items of a call or none,
    /// and may count those that are present.
    AllOrNothing,
}

/// The server: its keys, and the commands in its append-only file.
pub struct Follower {
    release: Release,
    keys: BTreeMap<Vec<u8>, Model>,
    file: Vec<Command>,
}

/// The options of BF.INSERT, and its items.
#[derive(Default)]
struct Insert<'a> {
    capacity: u64,
    rate: f64,
    tightening: f64,
    seed: Option<[u8; 32]>,
    expansion: u32,
    items: &'a [Vec<u8>],
}

impl Follower {
    pub fn new(release: Release) -> Self {
        Self { release, keys: BTreeMap::new(), file: Vec::new() }
    }

    /// Executes what the primary sent, and writes it to the file.
    pub fn receive(&mut self, commands: &[Command]) {
        for command in commands {
            let written = match &command[0].to_ascii_uppercase()[..] {
                // It replicates what it takes for the creation of the filter: one item.
                b"BF.LOAD" => insertion_of_payload(command),
                _ => command.clone(),
            };
            if self.execute(command) {
                self.file.push(written);
            }
        }
    }

    /// The server after a restart from its file.
    pub fn restarted(&self) -> Self {
        let mut server = Self::new(self.release);
        for command in &self.file {
            server.execute(command);
        }
        server.file.clone_from(&self.file);
        server
    }

    /// BGREWRITEAOF with `aof-use-rdb-preamble no`. With a preamble the filters are as complete.
    pub fn rewrite(&mut self) {
        let load = |(key, filter): (&Vec<u8>, &Model)| {
            vec![b"BF.LOAD".to_vec(), key.clone(), filter.load_payload()]
        };
        self.file = self.keys.iter().map(load).collect();
    }

    /// The number of these items that the filter of a key does not contain.
    pub fn missing(&self, key: &str, items: &[Vec<u8>]) -> usize {
        match self.keys.get(key.as_bytes()) {
            Some(filter) => items.iter().filter(|item| !filter.contains(item)).count(),
            None => items.len(),
        }
    }

    /// Executes a command. True if it has changed a key.
    ///
    /// # Panics
    ///
    /// A server with valkey-bloom would log `== CRITICAL == This replica is sending an error`.
    fn execute(&mut self, command: &[Vec<u8>]) -> bool {
        let name = String::from_utf8_lossy(&command[0]).to_uppercase();
        if ["MULTI", "EXEC"].contains(&&*name) {
            return false;
        }
        let (key, rest) = (&command[1], &command[2..]);
        match &*name {
            "DEL" => return self.keys.remove(key).is_some(),
            "COPY" => drop(self.keys.insert(rest[0].clone(), self.keys[key].clone())),
            "RENAME" => {
                let filter = self.keys.remove(key).expect("a filter to rename");
                self.keys.insert(rest[0].clone(), filter);
            }
            "RESTORE" => {
                let filter = Model::of_fields(&Payload::parse(&rest[1]).fields);
                self.keys.insert(key.clone(), filter);
            }
            "BF.LOAD" => {
                let is_new = self.keys.insert(key.clone(), Model::of_load_payload(&rest[0]));
                assert!(is_new.is_none(), "BUSYKEY {}", key.escape_ascii());
            }
            "BF.ADD" | "BF.MADD" => return self.insert(key, rest),
            "BF.INSERT" => {
                let insert = options(rest);
                if !self.keys.contains_key(key) {
                    let seed = insert.seed.expect("the seed of a new filter");
                    let Insert { capacity, rate, expansion, tightening, .. } = insert;
                    let filter = Model::new(capacity, rate, expansion, tightening, seed);
                    self.keys.insert(key.clone(), filter);
                    self.insert(key, insert.items);
                    return true;
                }
                return self.insert(key, insert.items);
            }
            _ => panic!("valkey-bloom does not know {name}"),
        }
        true
    }

    /// Inserts items into a filter that exists. True if one was new.
    fn insert(&mut self, key: &[u8], items: &[Vec<u8>]) -> bool {
        let Some(filter) = self.keys.get_mut(key) else {
            panic!("{} would be created with the replica's defaults", key.escape_ascii())
        };
        if self.release == Release::AllOrNothing && filter.lacks_room_for(items.len() as u64) {
            return false;
        }
        let before = filter.len();
        for item in items {
            filter.insert(item);
        }
        filter.len() != before
    }
}

/// Reads the arguments of BF.INSERT behind its key.
fn options(args: &[Vec<u8>]) -> Insert<'_> {
    let mut insert = Insert::default();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let name = String::from_utf8_lossy(arg).to_uppercase();
        match &*name {
            "NONSCALING" => {
                (insert.expansion, at) = (0, at + 1);
                continue;
            }
            "ITEMS" => {
                insert.items = &args[at + 1..];
                break;
            }
            _ => {}
        }
        let (value, text) = (&args[at + 1], String::from_utf8_lossy(&args[at + 1]));
        match &*name {
            "CAPACITY" => insert.capacity = text.parse().expect("a capacity"),
            "ERROR" => insert.rate = text.parse().expect("a rate"),
            "TIGHTENING" => insert.tightening = text.parse().expect("a ratio"),
            "SEED" => insert.seed = Some(value[..].try_into().expect("32 bytes")),
            "EXPANSION" => insert.expansion = text.parse().expect("an expansion"),
            _ => panic!("valkey-bloom does not know the option {name}"),
        }
        at += 2;
    }
    insert
}

/// What valkey-bloom writes to its append-only file for BF.LOAD: a filter without the items of the
/// payload, to which the payload itself is added.
fn insertion_of_payload(command: &[Vec<u8>]) -> Command {
    let (key, payload) = (&command[1], &command[2]);
    let filter = Model::of_load_payload(payload);
    let capacity: u64 = filter.layers.iter().map(|layer| layer.capacity).sum();
    let mut written = vec![b"BF.INSERT".to_vec(), key.clone()];
    for (name, value) in [
        ("CAPACITY", capacity.to_string().into_bytes()),
        ("ERROR", filter.rate.to_string().into_bytes()),
        ("TIGHTENING", filter.tightening.to_string().into_bytes()),
        ("SEED", filter.seed.to_vec()),
    ] {
        written.extend([name.as_bytes().to_vec(), value]);
    }
    match filter.expansion {
        0 => written.push(b"NONSCALING".to_vec()),
        n => written.extend([b"EXPANSION".to_vec(), n.to_string().into_bytes()]),
    }
    written.extend([b"ITEMS".to_vec(), payload.clone()]);
    written
}
