//! Random commands, most of which change filters.

use bloomline_harness::{Client, Random, append_only_file, arguments};
use redis::Value;

use super::Module;
use super::filters::{family_of, is_cuckoo};

/// Commands that are sent before their replies are read.
const PIPELINED: usize = 200;

/// Commands that only one of the modules runs. `KEY` and `OTHER` are keys, `CUCKOO` and `EGG` keys
/// of cuckoo filters.
const OF_BLOOMLINE: [&str; 12] = [
    "BF.BULKADD KEY FIXED 1 ITEM",
    "BF.BULKADD KEY LINES \"ITEM\\r\\nITEM\\r\\nITEM\\r\\n\"",
    "BF.RESERVE KEY 0.01 70 LAYOUT redisbloom TTL 100000",
    "BF.INSERT KEY EXPANSION 3 TTL 100000 ITEMS ITEM ITEM",
    "CF.BULKADD CUCKOO LINES \"ITEM\\nITEM\\n\\nITEM\\n\"",
    "CF.BULKADD CUCKOO FIXED 1 ITEM",
    "CF.BULKDEL CUCKOO LINES \"ITEM\\nITEM\\nITEM\\nITEM\"",
    "CF.MDEL CUCKOO ITEM ITEM ITEM ITEM",
    "CF.RESERVE CUCKOO 70 TTL 100000",
    "CF.INSERT CUCKOO CAPACITY 30 TTL 100000 ITEMS ITEM ITEM",
    // RedisBloom does not replicate the data of a chunk.
    "LOAD CUCKOO",
    "LOAD CUCKOO",
];
const OF_REDISBLOOM: [&str; 6] = [
    "BF.RESERVE KEY 0.01 60 something",
    "BF.RESERVE KEY 0.01 20 EXPANSION 40000",
    "BF.INSERT KEY cxyz 7 erzzz 0.1 ezzz 3 noXX ixx ITEM ITEM",
    "COPY KEY OTHER",
    "CF.RESERVE CUCKOO 100 something 3",
    "COPY CUCKOO EGG",
];
/// Commands of cuckoo filters, and of the server on them, for both.
const OF_CUCKOO: [&str; 38] = [
    "CF.ADD CUCKOO ITEM",
    "CF.ADD CUCKOO ITEM",
    "CF.ADD CUCKOO ITEM",
    "CF.ADDNX CUCKOO ITEM",
    "CF.ADDNX CUCKOO ITEM",
    "CF.INSERT CUCKOO ITEMS ITEM ITEM ITEM",
    "CF.INSERT CUCKOO ITEMS ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM",
    "CF.INSERT CUCKOO cap 40 ITEMS ITEM ITEM ITEM ITEM",
    "CF.INSERT cf:twins CAPACITY 4 ITEMS same same same same same same same",
    "CF.INSERT CUCKOO NOCREATE ITEMS ITEM",
    "CF.INSERTNX CUCKOO ITEMS ITEM ITEM ITEM",
    "CF.INSERTNX CUCKOO CAPACITY 20 ITEMS ITEM same ITEM same ITEM ITEM ITEM ITEM ITEM ITEM",
    "CF.DEL CUCKOO ITEM",
    "CF.DEL CUCKOO ITEM",
    "CF.DEL CUCKOO ITEM",
    "CF.DEL cf:twins same",
    "CF.DEL cf:twins same",
    "CF.COMPACT CUCKOO",
    "CF.COMPACT CUCKOO",
    "CF.RESERVE CUCKOO 50",
    "CF.RESERVE CUCKOO 20 EXPANSION 2 BUCKETSIZE 3",
    "CF.RESERVE CUCKOO 40 EXPANSION 4 BUCKETSIZE 1 MAXITERATIONS 50",
    "CF.RESERVE CUCKOO 30 EXPANSION 0",
    "CF.RESERVE CUCKOO none",
    "CF.INSERT CUCKOO CAPACITY 3 ITEMS ITEM",
    "CF.MEXISTS CUCKOO ITEM ITEM",
    "CF.COUNT CUCKOO ITEM",
    "CF.INFO CUCKOO",
    "CF.ADD text ITEM",
    "CF.DEL text ITEM",
    "CF.LOADCHUNK CUCKOO 7 damaged",
    "DEL CUCKOO",
    "RENAME CUCKOO EGG",
    "PEXPIRE CUCKOO 100000000",
    "MULTI; CF.ADD CUCKOO ITEM; CF.INSERT EGG ITEMS ITEM ITEM; CF.DEL CUCKOO ITEM; EXEC",
    "EVAL \"redis.call('CF.ADD', KEYS[1], ARGV[1]) return redis.call('CF.INSERT', KEYS[2], 'ITEMS', ARGV[1], ARGV[1])\" 2 CUCKOO EGG ITEM",
    "RESTORE CUCKOO",
    "RESTORE CUCKOO",
];
/// Commands of Bloom filters, and of the server on them, for both.
const COMMANDS: [&str; 30] = [
    "BF.ADD KEY ITEM",
    "BF.ADD KEY ITEM",
    "BF.MADD KEY ITEM ITEM ITEM ITEM",
    "BF.MADD KEY ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM ITEM",
    "BF.INSERT KEY ITEMS ITEM ITEM",
    "BF.INSERT KEY CAPACITY 40 ERROR 0.001 ITEMS ITEM ITEM ITEM",
    "BF.INSERT KEY NOCREATE ITEMS ITEM",
    "BF.INSERT KEY NONSCALING EXPANSION 4 CAPACITY 30 ITEMS ITEM ITEM ITEM",
    "BF.RESERVE KEY 0.01 100",
    "BF.RESERVE KEY 0.2 10 EXPANSION 1",
    "BF.RESERVE KEY 0.0001 25 EXPANSION 4",
    "BF.RESERVE KEY 0.05 20 NONSCALING",
    "BF.RESERVE KEY 1e-300 30",
    "BF.RESERVE KEY 0 100",
    "BF.RESERVE KEY 0.01 none",
    "BF.INSERT KEY CAPACITY none ITEMS ITEM",
    "BF.MEXISTS KEY ITEM ITEM",
    "BF.INFO KEY",
    "BF.ADD text ITEM",
    "BF.LOADCHUNK KEY 7 damaged",
    "DEL KEY",
    "RENAME KEY OTHER",
    "PEXPIRE KEY 100000000",
    "PERSIST KEY",
    "SET text ITEM",
    "MULTI; BF.ADD KEY ITEM; BF.MADD OTHER ITEM ITEM; EXEC",
    "EVAL \"redis.call('BF.ADD', KEYS[1], ARGV[1]) return redis.call('BF.MADD', KEYS[2], 'ITEM', 'ITEM')\" 2 KEY OTHER ITEM",
    "LOAD KEY",
    "RESTORE KEY",
    "RESTORE KEY",
];

/// The commands of one test.
pub struct Stream {
    random: Random,
    /// A Bloom filter and a cuckoo filter.
    carried: [Carried; 2],
}

/// A filter as chunks and as a payload.
struct Carried {
    family: &'static str,
    chunks: Vec<(i64, Vec<u8>)>,
    dump: Vec<u8>,
}

impl Carried {
    fn read(client: &mut Client, key: &str) -> Self {
        let chunks = client.chunks(key);
        let dump = client.dump(key);
        Self { family: family_of(key), chunks, dump }
    }
}

impl Stream {
    /// Reads two filters of the server, which are then loaded and restored under other keys.
    pub fn new(client: &mut Client) -> Self {
        let carried = ["expansion:4", "cf:expansion:4"].map(|key| Carried::read(client, key));
        Self { random: Random(28), carried }
    }

    /// Runs this many random commands. At least half of them must be accepted.
    pub fn run(&mut self, client: &mut Client, module: Module, count: usize) {
        let (mut sent, mut refused) = (0, 0);
        while sent < count {
            let mut commands = Vec::new();
            while commands.len() < PIPELINED {
                self.push(&mut commands, module);
            }
            client.send_raw(&append_only_file(&commands));
            sent += commands.len();
            for command in &commands {
                let reply = client.receive(&command[0]);
                refused += usize::from(matches!(reply, Value::ServerError(_)));
            }
        }
        assert!(refused < sent / 2, "{refused} of {sent} were refused");
    }

    fn push(&mut self, commands: &mut Vec<Vec<Vec<u8>>>, module: Module) {
        let own: &[&str] = match module {
            Module::Bloomline => &OF_BLOOMLINE,
            Module::RedisBloom => &OF_REDISBLOOM,
        };
        let lines = COMMANDS.iter().chain(&OF_CUCKOO).chain(own);
        let number = self.random.next() as usize % lines.clone().count();
        let line = lines.clone().nth(number).expect("a line of the lists");
        for line in line.split("; ") {
            let line = self.filled(line);
            let words = arguments(&line);
            let key = words.get(1).map(|key| String::from_utf8_lossy(key));
            let carried = &self.carried[usize::from(key.is_some_and(|key| is_cuckoo(&key)))];
            match words[0].as_slice() {
                b"LOAD" => commands.extend(carried.chunks.iter().map(|(iterator, data)| {
                    let command = format!("{}.LOADCHUNK", carried.family).into_bytes();
                    vec![command, words[1].clone(), iterator.to_string().into_bytes(), data.clone()]
                })),
                b"RESTORE" => {
                    let rest = [b"0".to_vec(), carried.dump.clone(), b"REPLACE".to_vec()];
                    commands.push([words, rest.to_vec()].concat());
                }
                _ => commands.push(words),
            }
        }
    }

    /// The line with keys and items.
    fn filled(&mut self, line: &str) -> String {
        let mut filled = line.to_owned();
        let mut put = |name: &str, kinds: u64, value: &dyn Fn(u64) -> String| {
            while filled.contains(name) {
                filled = filled.replacen(name, &value(self.random.next() % kinds), 1);
            }
        };
        put("OTHER", 12, &|number| format!("key:{number}"));
        put("ITEM", 5_000, &|number| format!("item:{number}"));
        put("CUCKOO", 12, &|number| format!("cf:key:{number}"));
        put("EGG", 12, &|number| format!("cf:key:{number}"));
        // Not KEYS of a script.
        put("KEY ", 12, &|number| format!("key:{number} "));
        if filled.ends_with("KEY") {
            let number = self.random.next() % 12;
            filled.replace_range(filled.len() - 3.., &format!("key:{number}"));
        }
        filled
    }
}
