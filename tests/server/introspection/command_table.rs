//! COMMAND INFO: what clients, proxies and access rules read of each command.

use std::collections::BTreeSet;

use bloomline_harness::{Setup, show};
use redis::Value;

use crate::inspect::word;

/// Tips of commands whose replies change with time.
const TIMED: &str = "dont_cache nondeterministic_output";

/// All commands with one key: a call, arity, flags, flags of the key, categories, tips.
const COMMANDS: [(&str, i64, &str, &str, &str, &str); 35] = [
    ("bf.reserve KEY 0.01 100", -4, "write denyoom", "RW insert", "@bloom @write", ""),
    ("bf.add KEY a", 3, "write denyoom fast", "RW access insert", "@bloom @write @fast", ""),
    ("bf.madd KEY a b", -3, "write denyoom", "RW access insert", "@bloom @write", ""),
    ("bf.bulkadd KEY LINES a", -4, "write denyoom", "RW access insert", "@bloom @write", ""),
    ("bf.insert KEY ITEMS a", -3, "write denyoom", "RW access insert", "@bloom @write", ""),
    ("bf.rotate KEY", -2, "write denyoom", "RW insert", "@bloom @write", ""),
    ("bf.compact KEY", 2, "write", "RW access update", "@bloom @write", ""),
    ("bf.exists KEY a", 3, "readonly fast", "RO access", "@bloom @read @fast", TIMED),
    ("bf.mexists KEY a b", -3, "readonly fast", "RO access", "@bloom @read @fast", TIMED),
    ("bf.bulkexists KEY LINES a", -4, "readonly", "RO access", "@bloom @read", TIMED),
    ("bf.info KEY", -2, "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.stats KEY", -2, "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.card KEY", 2, "readonly fast", "RO access", "@bloom @read @fast", TIMED),
    ("bf.debug KEY", 2, "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.scandump KEY 0", 3, "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.load KEY x", 3, "write denyoom", "RW insert", "@bloom @write", ""),
    ("bf.loadchunk KEY 1 x", 4, "write denyoom", "RW insert", "@bloom @write", ""),
    ("cf.reserve KEY 100", -3, "write denyoom", "RW insert", "@cuckoo @write", ""),
    ("cf.add KEY a", 3, "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.addnx KEY a", 3, "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.insert KEY ITEMS a", -4, "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.insertnx KEY ITEMS a", -4, "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.del KEY a", 3, "write fast", "RW access delete", "@cuckoo @write @fast", ""),
    ("cf.bulkadd KEY LINES a", -4, "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.bulkexists KEY LINES a", -4, "readonly", "RO access", "@cuckoo @read", ""),
    ("cf.bulkdel KEY LINES a", -4, "write", "RW access delete", "@cuckoo @write", ""),
    ("cf.mdel KEY a b", -3, "write fast", "RW access delete", "@cuckoo @write @fast", ""),
    ("cf.compact KEY", 2, "write", "RW access update", "@cuckoo @write", ""),
    ("cf.exists KEY a", 3, "readonly fast", "RO access", "@cuckoo @read @fast", ""),
    ("cf.mexists KEY a b", -3, "readonly fast", "RO access", "@cuckoo @read @fast", ""),
    ("cf.count KEY a", 3, "readonly fast", "RO access", "@cuckoo @read @fast", ""),
    ("cf.info KEY", -2, "readonly fast", "RO access", "@cuckoo @read @fast", "dont_cache"),
    ("cf.debug KEY", 2, "readonly fast", "RO access", "@cuckoo @read @fast", "dont_cache"),
    ("cf.scandump KEY 0", 3, "readonly", "RO access", "@cuckoo @read", "dont_cache"),
    ("cf.loadchunk KEY 1 x", 4, "write denyoom", "RW insert", "@cuckoo @write", ""),
];

/// A call of each command that writes, for the key KEY.
pub fn writing_calls() -> impl Iterator<Item = &'static str> {
    let writing = COMMANDS.iter().filter(|(_, _, flags, ..)| flags.contains("write"));
    writing.map(|(call, ..)| *call).chain(["bf.merge KEY KEY"])
}

/// The names of all commands.
fn all_names() -> BTreeSet<String> {
    let others = ["bf.merge", "bf.help", "cf.help"];
    COMMANDS.iter().map(|(call, ..)| word(call, 0)).chain(others).map(str::to_owned).collect()
}

fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) | Value::Set(elements) => elements,
        other => panic!("expected an array, got {}", show(other)),
    }
}

/// The names in an array or a set, as simple or bulk strings.
fn names(value: &Value) -> BTreeSet<String> {
    let name = |value: &Value| match value {
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("expected a name, got {}", show(other)),
    };
    elements(value).iter().map(name).collect()
}

/// The value of a key in a flat array.
fn field<'a>(pairs: &'a Value, name: &str) -> &'a Value {
    let found = elements(pairs)
        .chunks(2)
        .find(|pair| names(&Value::Array(vec![pair[0].clone()])).contains(name));
    &found.unwrap_or_else(|| panic!("no {name} in {}", show(pairs)))[1]
}

/// Asserts the flags of each key specification, where it begins, and where it ends.
fn assert_specs(info: &[Value], expected: &[(&str, &str, &str)]) {
    let specs = elements(&info[8]);
    assert_eq!(specs.len(), expected.len());
    for (spec, (flags, index, last)) in specs.iter().zip(expected) {
        assert_eq!(names(field(spec, "flags")), words(flags));
        let (begin, find) = (field(spec, "begin_search"), field(spec, "find_keys"));
        assert_eq!(show(field(field(begin, "spec"), "index")), *index);
        assert_eq!(show(field(field(find, "spec"), "lastkey")), *last);
    }
}

#[test]
fn commands_are_reported_as_the_table_says() {
    Setup::new().on_each_server(|mut client, server| {
        let kind = &server.kind;
        for (call, arity, flags, key_flags, categories, tips) in COMMANDS {
            let name = word(call, 0);
            let reply = client.call(&format!("COMMAND INFO {name}"));
            let info = elements(&elements(&reply)[0]);
            // The server's errors use this name.
            assert_eq!(show(&info[0]), format!("${} {name}", name.len()));
            // Without GetCommand and SetCommandInfo, Redis 6.2 does not know the arity of a
            // module's command.
            let arity = if kind.is_before_7() { -1 } else { arity };
            assert_eq!(show(&info[1]), format!(":{arity}"), "arity of {name}");
            let mut flagged = names(&info[2]);
            // Servers since 7.0 flag the commands of modules.
            assert_eq!(flagged.remove("module"), !kind.is_before_7(), "{name}");
            assert_eq!(flagged, words(flags), "{name}");
            let keys: Vec<String> = info[3..6].iter().map(show).collect();
            assert_eq!(keys, [":1", ":1", ":1"], "{name}");
            assert_eq!(client.ask(&format!("COMMAND GETKEYS {call}")), "*[$3 KEY]", "{name}");
            if kind.has_acl_categories() {
                assert_eq!(names(&info[6]), words(categories), "{name}");
            }
            if kind.is_before_7() {
                // Redis 6.2 has neither tips nor specifications of keys.
                continue;
            }
            // They prevent caching of changing replies.
            assert_eq!(names(&info[7]), words(tips), "{name}");
            assert_specs(info, &[(key_flags, ":1", ":0")]);
            let listed = client.ask(&format!("COMMAND GETKEYSANDFLAGS {call}"));
            assert!(listed.starts_with("*[*[$3 KEY "), "{name}: {listed}");
            for flag in words(key_flags) {
                assert!(listed.contains(&flag), "{name}: no {flag} in {listed}");
            }
        }
    });
}

#[test]
fn merge_writes_its_first_key_and_reads_the_others() {
    Setup::new().on_each_server(|mut client, server| {
        for (line, keys) in [
            ("BF.MERGE d a", "*[$1 d $1 a]"),
            ("BF.MERGE d a b c", "*[$1 d $1 a $1 b $1 c]"),
            ("BF.MERGE d d d", "*[$1 d $1 d $1 d]"),
        ] {
            assert_eq!(client.ask(&format!("COMMAND GETKEYS {line}")), keys, "{line}");
        }
        let reply = client.call("COMMAND INFO bf.merge");
        let info = elements(&elements(&reply)[0]);
        let flagged = names(&info[2]);
        assert!(flagged.contains("write") && flagged.contains("denyoom"), "{flagged:?}");
        let numbers: Vec<String> = info[3..6].iter().map(show).collect();
        assert_eq!(numbers, [":1", ":-1", ":1"], "first key, last key, step");
        if server.kind.has_acl_categories() {
            assert_eq!(names(&info[6]), words("@bloom @write"));
        }
        if server.kind.is_before_7() {
            return;
        }
        assert_specs(info, &[("RW access insert", ":1", ":0"), ("RO access", ":2", ":-1")]);
        let reply = client.call("COMMAND GETKEYSANDFLAGS BF.MERGE d a b");
        for (key, flags) in
            elements(&reply).iter().zip(["RW access insert", "RO access", "RO access"])
        {
            assert_eq!(names(&elements(key)[1]), words(flags), "{}", show(&reply));
        }
    });
}

#[test]
fn commands_are_listed_by_category_and_module() {
    Setup::new().on_each_server(|mut client, server| {
        if server.kind.has_acl_categories() {
            for (category, prefix) in [("bloom", "bf."), ("cuckoo", "cf.")] {
                let mut expected = all_names();
                expected.retain(|name| name.starts_with(prefix));
                let listed = names(&client.call(&format!("ACL CAT {category}")));
                // These leave the commands of modules out of all their categories.
                let omits = ["redis-7.4", "valkey-8.0"].contains(&server.kind.series());
                assert!(listed == expected || listed.is_empty() && omits, "{listed:?}");
            }
        } else {
            let all = names(&client.call("ACL CAT"));
            assert!(!all.contains("bloom") && !all.contains("cuckoo"), "{all:?}");
        }
        // Redis 6.2 has no COMMAND LIST.
        if !server.kind.is_before_7() {
            let listed = names(&client.call("COMMAND LIST FILTERBY MODULE bf"));
            assert_eq!(listed, all_names());
        }
    });
}
