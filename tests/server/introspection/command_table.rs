//! COMMAND INFO: what clients, proxies and access rules read of each command.

use std::collections::BTreeSet;

use bloomline_harness::{Setup, for_each_server, show};
use redis::Value;

use crate::inspect::word;

/// All commands with one key: a call, flags, flags of the key, categories, tips.
const COMMANDS: [(&str, &str, &str, &str, &str); 35] = [
    ("bf.reserve KEY 0.01 100", "write denyoom", "RW insert", "@bloom @write", ""),
    ("bf.add KEY a", "write denyoom fast", "RW access insert", "@bloom @write @fast", ""),
    ("bf.madd KEY a b", "write denyoom", "RW access insert", "@bloom @write", ""),
    ("bf.bulkadd KEY LINES a", "write denyoom", "RW access insert", "@bloom @write", ""),
    ("bf.insert KEY ITEMS a", "write denyoom", "RW access insert", "@bloom @write", ""),
    ("bf.rotate KEY", "write denyoom", "RW insert", "@bloom @write", ""),
    ("bf.compact KEY", "write", "RW access update", "@bloom @write", ""),
    ("bf.exists KEY a", "readonly fast", "RO access", "@bloom @read @fast", ""),
    ("bf.mexists KEY a b", "readonly fast", "RO access", "@bloom @read @fast", ""),
    ("bf.bulkexists KEY LINES a", "readonly", "RO access", "@bloom @read", ""),
    ("bf.info KEY", "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.stats KEY", "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.card KEY", "readonly fast", "RO access", "@bloom @read @fast", ""),
    ("bf.debug KEY", "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.scandump KEY 0", "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.loadchunk KEY 1 x", "write denyoom", "RW insert", "@bloom @write", ""),
    ("bf._hashcheck KEY x", "readonly fast", "RO access", "@bloom @read @fast", ""),
    ("cf.reserve KEY 100", "write denyoom", "RW insert", "@cuckoo @write", ""),
    ("cf.add KEY a", "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.addnx KEY a", "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.insert KEY ITEMS a", "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.insertnx KEY ITEMS a", "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.del KEY a", "write fast", "RW access delete", "@cuckoo @write @fast", ""),
    ("cf.bulkadd KEY LINES a", "write denyoom", "RW access insert", "@cuckoo @write", ""),
    ("cf.bulkexists KEY LINES a", "readonly", "RO access", "@cuckoo @read", ""),
    ("cf.bulkdel KEY LINES a", "write", "RW access delete", "@cuckoo @write", ""),
    ("cf.mdel KEY a b", "write fast", "RW access delete", "@cuckoo @write @fast", ""),
    ("cf.compact KEY", "write", "RW access update", "@cuckoo @write", ""),
    ("cf.exists KEY a", "readonly fast", "RO access", "@cuckoo @read @fast", ""),
    ("cf.mexists KEY a b", "readonly fast", "RO access", "@cuckoo @read @fast", ""),
    ("cf.count KEY a", "readonly fast", "RO access", "@cuckoo @read @fast", ""),
    ("cf.info KEY", "readonly fast", "RO access", "@cuckoo @read @fast", "dont_cache"),
    ("cf.debug KEY", "readonly fast", "RO access", "@cuckoo @read @fast", "dont_cache"),
    ("cf.scandump KEY 0", "readonly", "RO access", "@cuckoo @read", "dont_cache"),
    ("cf.loadchunk KEY 1 x", "write denyoom", "RW insert", "@cuckoo @write", ""),
];

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

#[test]
fn flags_match_what_commands_do() {
    Setup::new().on_each_server(|mut client, server| {
        for (call, flags, ..) in COMMANDS {
            let name = word(call, 0);
            let reply = client.call(&format!("COMMAND INFO {name}"));
            let mut flagged = names(&elements(&elements(&reply)[0])[2]);
            // Servers since 7.0 flag the commands of modules.
            assert_eq!(flagged.remove("module"), !server.kind.is_before_7(), "{name}");
            assert_eq!(flagged, words(flags), "{name}");
        }
    });
}

#[test]
fn keys_are_found_with_their_flags() {
    Setup::new().on_each_server(|mut client, server| {
        for (call, _, key_flags, ..) in COMMANDS {
            let name = word(call, 0);
            assert_eq!(client.ask(&format!("COMMAND GETKEYS {call}")), "*[$3 KEY]", "{name}");
            if server.kind.is_before_7() {
                continue;
            }
            let reply = client.call(&format!("COMMAND INFO {name}"));
            let specs = elements(&elements(&elements(&reply)[0])[8]);
            let [spec] = specs else { panic!("{name}: {} key specifications", specs.len()) };
            assert_eq!(names(field(spec, "flags")), words(key_flags), "{name}");
            let (begin, find) = (field(spec, "begin_search"), field(spec, "find_keys"));
            assert_eq!(show(field(field(begin, "spec"), "index")), ":1", "{name}");
            assert_eq!(show(field(field(find, "spec"), "lastkey")), ":0", "{name}");
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
        let keys = client.ask("COMMAND GETKEYS BF.MERGE to one two");
        assert_eq!(keys, "*[$2 to $3 one $3 two]");
        let reply = client.call("COMMAND INFO bf.merge");
        let info = elements(&elements(&reply)[0]);
        let flagged = names(&info[2]);
        assert!(flagged.contains("write") && flagged.contains("denyoom"), "{flagged:?}");
        let numbers: Vec<String> = info[3..6].iter().map(show).collect();
        assert_eq!(numbers, [":1", ":-1", ":1"], "first key, last key, step");
        if server.kind.is_before_7() {
            return;
        }
        let [destination, sources] = elements(&info[8]) else { panic!("{}", show(&info[8])) };
        for (spec, flags, index, last) in
            [(destination, "RW access insert", ":1", ":0"), (sources, "RO access", ":2", ":-1")]
        {
            assert_eq!(names(field(spec, "flags")), words(flags));
            let (begin, find) = (field(spec, "begin_search"), field(spec, "find_keys"));
            assert_eq!(show(field(field(begin, "spec"), "index")), index);
            assert_eq!(show(field(field(find, "spec"), "lastkey")), last);
        }
        if server.kind.has_acl_categories() {
            assert_eq!(names(&info[6]), words("@bloom @write"));
        }
    });
}

#[test]
fn categories_are_the_familys_and_those_of_similar_commands() {
    Setup::new().on_each_server(|mut client, server| {
        if !server.kind.has_acl_categories() {
            let all = names(&client.call("ACL CAT"));
            assert!(!all.contains("bloom") && !all.contains("cuckoo"), "{all:?}");
            return;
        }
        for (call, _, _, categories, _) in COMMANDS {
            let name = word(call, 0);
            let reply = client.call(&format!("COMMAND INFO {name}"));
            assert_eq!(names(&elements(&elements(&reply)[0])[6]), words(categories), "{name}");
        }
        for (category, prefix) in [("bloom", "bf."), ("cuckoo", "cf.")] {
            let mut expected = all_names();
            expected.retain(|name| name.starts_with(prefix));
            let listed = names(&client.call(&format!("ACL CAT {category}")));
            // These leave the commands of modules out of all their categories.
            let omits = ["redis-7.4", "valkey-8.0"].contains(&server.kind.series());
            assert!(listed == expected || listed.is_empty() && omits, "{listed:?}");
        }
    });
}

#[test]
fn command_list_filters_by_our_module() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            // Redis 6.2 has no COMMAND LIST.
            return;
        }
        let server = Setup::new().start(kind);
        let expected = all_names();
        assert_eq!(names(&server.resp2().call("COMMAND LIST FILTERBY MODULE bf")), expected);
    });
}

#[test]
fn tips_prevent_caching_of_changing_replies() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            // Redis 6.2 has no tips.
            return;
        }
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (call, .., tips) in COMMANDS {
            let name = word(call, 0);
            let reply = client.call(&format!("COMMAND INFO {name}"));
            assert_eq!(names(&elements(&elements(&reply)[0])[7]), words(tips), "{name}");
        }
    });
}

#[test]
fn every_argument_of_a_merge_is_a_key() {
    Setup::new().on_each_server(|mut client, server| {
        for (line, keys) in [
            ("BF.MERGE d a", "*[$1 d $1 a]"),
            ("BF.MERGE d a b c", "*[$1 d $1 a $1 b $1 c]"),
            ("BF.MERGE d d d", "*[$1 d $1 d $1 d]"),
        ] {
            assert_eq!(client.ask(&format!("COMMAND GETKEYS {line}")), keys, "{line}");
        }
        if !server.kind.is_before_7() {
            let flags = client.ask("COMMAND GETKEYSANDFLAGS BF.MERGE d a b").to_lowercase();
            let key = |name: &str| flags.split(&format!("$1 {name} ")).nth(1).map(str::to_owned);
            let destination = key("d").expect("the destination");
            let destination = destination.split("$1 ").next().expect("flags");
            assert!(destination.contains("rw") && destination.contains("insert"), "{flags}");
            for source in ["a", "b"] {
                let source = key(source).expect("a source");
                let source = source.split("$1 ").next().expect("flags");
                assert!(source.contains("ro") && source.contains("access"), "{flags}");
            }
        }
    });
}
