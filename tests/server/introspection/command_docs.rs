//! COMMAND DOCS: the hints of redis-cli, and the source of generated documentation.

use bloomline_harness::{Client, Setup, for_each_server, show};
use redis::Value;

use crate::inspect::text;

/// The arguments of packed items.
const PACKED: &str = "key:key form:oneof(FIXED width:integer|PREFIXED prefixed:pure-token|LINES lines:pure-token) \
    data:string [COUNT count:pure-token]";

/// The arguments of CF.INSERT and CF.INSERTNX.
const INSERTED: &str = "key:key [CAPACITY capacity:integer] [NOCREATE nocreate:pure-token] [ERROR error:double] \
    [LAYOUT layout:oneof(BLOOMLINE bloomline:pure-token|REDISBLOOM redisbloom:pure-token)] [TTL ttl:integer] \
    [SEED seed:integer] ITEMS item:string...";

/// Name, first version, and the arguments in the notation of [`written`].
const COMMANDS: [(&str, &str, &str); 36] = [
    (
        "bf.reserve",
        "1.0.0",
        "key:key error_rate:double capacity:integer [EXPANSION expansion:integer] [NONSCALING nonscaling:pure-token] \
         [LAYOUT layout:oneof(BLOOMLINE bloomline:pure-token|REDISBLOOM redisbloom:pure-token|\
         VALKEY-BLOOM valkey-bloom:pure-token)] \
         [window:oneof(WINDOW seconds:integer|LAST last:pure-token)] [GENERATIONS generations:integer] \
         [NOREFRESH norefresh:pure-token] [TTL ttl:integer] [SEED seed:integer] \
         [TIGHTENING tightening:double] [VALIDATESCALETO validatescaleto:integer]",
    ),
    ("bf.add", "1.0.0", "key:key item:string"),
    ("bf.madd", "1.0.0", "key:key item:string..."),
    (
        "bf.insert",
        "1.0.0",
        "key:key [CAPACITY capacity:integer] [ERROR error:double] [EXPANSION expansion:integer] \
         [NOCREATE nocreate:pure-token] [NONSCALING nonscaling:pure-token] \
         [LAYOUT layout:oneof(BLOOMLINE bloomline:pure-token|REDISBLOOM redisbloom:pure-token|\
         VALKEY-BLOOM valkey-bloom:pure-token)] \
         [window:oneof(WINDOW seconds:integer|LAST last:pure-token)] [GENERATIONS generations:integer] \
         [NOREFRESH norefresh:pure-token] [TTL ttl:integer] [SEED seed:integer] \
         [TIGHTENING tightening:double] [VALIDATESCALETO validatescaleto:integer] \
         ITEMS item:string...",
    ),
    ("bf.bulkadd", "0.1.0", PACKED),
    ("bf.rotate", "0.1.0", "key:key [AT milliseconds:integer]"),
    ("bf.merge", "0.1.0", "destination:key source:key..."),
    ("bf.compact", "0.1.0", "key:key"),
    ("bf.exists", "1.0.0", "key:key item:string"),
    ("bf.mexists", "1.0.0", "key:key item:string..."),
    ("bf.bulkexists", "0.1.0", PACKED),
    (
        "bf.info",
        "1.0.0",
        "key:key [single_value:oneof(CAPACITY capacity:pure-token|SIZE size:pure-token|FILTERS filters:pure-token|\
         ITEMS items:pure-token|EXPANSION expansion:pure-token|ERROR error:pure-token|TIGHTENING tightening:pure-token|\
         MAXSCALEDCAPACITY maxscaledcapacity:pure-token)]",
    ),
    ("bf.stats", "0.1.0", "key:key [field:string...]"),
    ("bf.card", "2.4.4", "key:key"),
    ("bf.debug", "1.0.0", "key:key"),
    ("bf.scandump", "1.0.0", "key:key iterator:integer"),
    ("bf.loadchunk", "1.0.0", "key:key iterator:integer data:string"),
    ("bf.load", "0.1.0", "key:key payload:string"),
    (
        "cf.reserve",
        "1.0.0",
        "key:key capacity:integer [BUCKETSIZE bucketsize:integer] [MAXITERATIONS maxiterations:integer] \
         [EXPANSION expansion:integer] [ERROR error:double] \
         [LAYOUT layout:oneof(BLOOMLINE bloomline:pure-token|REDISBLOOM redisbloom:pure-token)] \
         [TTL ttl:integer] [SEED seed:integer]",
    ),
    ("cf.add", "1.0.0", "key:key item:string"),
    ("cf.addnx", "1.0.0", "key:key item:string"),
    ("cf.insert", "1.0.0", INSERTED),
    ("cf.insertnx", "1.0.0", INSERTED),
    ("cf.exists", "1.0.0", "key:key item:string"),
    ("cf.mexists", "1.0.0", "key:key item:string..."),
    ("cf.count", "1.0.0", "key:key item:string"),
    ("cf.bulkadd", "0.1.0", PACKED),
    ("cf.bulkexists", "0.1.0", PACKED),
    ("cf.bulkdel", "0.1.0", PACKED),
    ("cf.del", "1.0.0", "key:key item:string"),
    ("cf.mdel", "0.1.0", "key:key item:string..."),
    ("cf.compact", "1.0.0", "key:key"),
    (
        "cf.info",
        "1.0.0",
        "key:key [field:oneof(SIZE size:pure-token|BUCKETS buckets:pure-token|FILTERS filters:pure-token|\
         ITEMS items:pure-token|DELETES deletes:pure-token|BUCKETSIZE bucketsize:pure-token|\
         EXPANSION expansion:pure-token|MAXITERATIONS maxiterations:pure-token|\
         CAPACITY capacity:pure-token|ERROR error:pure-token|FPRATE fprate:pure-token|\
         LAYOUT layout:pure-token)]",
    ),
    ("cf.debug", "1.0.0", "key:key"),
    ("cf.scandump", "1.0.0", "key:key iterator:integer"),
    ("cf.loadchunk", "1.0.0", "key:key iterator:integer data:string"),
];

/// The value of a key in a map.
fn field<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    let Value::Map(pairs) = map else { panic!("expected a map, got {}", show(map)) };
    pairs.iter().find(|(key, _)| text(key) == name).map(|(_, value)| value)
}

fn needed(map: &Value, name: &str) -> String {
    text(field(map, name).unwrap_or_else(|| panic!("no {name} in {}", show(map))))
}

/// Arguments in one line: `[TOKEN name:type...]`, with brackets if optional, with dots if
/// repeatable.
fn written(arguments: &Value, between: &str) -> String {
    let Value::Array(arguments) = arguments else {
        panic!("expected an array, got {}", show(arguments))
    };
    let one = |argument: &Value| {
        let has_flag = |flag| {
            field(argument, "flags").is_some_and(|flags| match flags {
                Value::Array(flags) | Value::Set(flags) => {
                    flags.iter().any(|found| text(found) == flag)
                }
                other => panic!("expected flags, got {}", show(other)),
            })
        };
        let token = field(argument, "token").map(|token| text(token) + " ").unwrap_or_default();
        let parts = field(argument, "arguments").map(|parts| format!("({})", written(parts, "|")));
        let more = if has_flag("multiple") { "..." } else { "" };
        let (name, kind) = (needed(argument, "name"), needed(argument, "type"));
        let line = format!("{token}{name}:{kind}{}{more}", parts.unwrap_or_default());
        if has_flag("optional") { format!("[{line}]") } else { line }
    };
    arguments.iter().map(one).collect::<Vec<_>>().join(between)
}

fn docs(client: &mut Client, name: &str) -> Value {
    let reply = client.call(&format!("COMMAND DOCS {name}"));
    field(&reply, name).unwrap_or_else(|| panic!("no docs of {name}")).clone()
}

#[test]
fn every_command_is_documented() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        if kind.is_before_7() {
            // Redis 6.2 stores no descriptions of commands.
            assert!(server.resp2().ask("COMMAND DOCS bf.add").starts_with("-ERR"));
            return;
        }
        let mut client = server.resp3();
        for (name, since, arguments) in COMMANDS {
            let docs = docs(&mut client, name);
            assert!(needed(&docs, "summary").len() > 20, "{name}");
            assert!(needed(&docs, "complexity").starts_with("O("), "{name}");
            assert_eq!(needed(&docs, "since"), since, "{name}");
            assert_eq!(needed(&docs, "group"), "module", "{name}");
            assert_eq!(needed(&docs, "module"), "bf", "{name}");
            let documented =
                field(&docs, "arguments").unwrap_or_else(|| panic!("{name}: no arguments"));
            assert_eq!(written(documented, " "), arguments, "{name}");
            // Arguments that are keys name their specification.
            let Value::Array(documented) = documented else { panic!("{name}") };
            for (at, argument) in documented.iter().enumerate() {
                let spec = field(argument, "key_spec_index").map(show);
                let is_key = at == 0 || name == "bf.merge";
                assert_eq!(spec, is_key.then(|| format!(":{at}")), "{name}");
            }
        }
    });
}
