//! COMMAND INFO: what clients, proxies and access rules read of each command.

use std::collections::BTreeSet;

use redis::Value;

use bloomline_harness::{Setup, for_each_server, show};

use crate::inspect::word;

/// Of all but BF.HELP, which has no key: name with arguments, flags, flags of the key, categories,
/// tips.
const COMMANDS: [(&str, &str, &str, &str, &str); 11] = [
    ("bf.reserve KEY 0.01 100", "write denyoom", "RW insert", "@bloom @write", ""),
    ("bf.add KEY a", "write denyoom fast", "RW access insert", "@bloom @write @fast", ""),
    ("bf.madd KEY a b", "write denyoom", "RW access insert", "@bloom @write", ""),
    ("bf.insert KEY ITEMS a", "write denyoom", "RW access insert", "@bloom @write", ""),
    ("bf.exists KEY a", "readonly fast", "RO access", "@bloom @read @fast", ""),
    ("bf.mexists KEY a b", "readonly fast", "RO access", "@bloom @read @fast", ""),
    ("bf.info KEY", "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.card KEY", "readonly fast", "RO access", "@bloom @read @fast", ""),
    ("bf.debug KEY", "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.scandump KEY 0", "readonly", "RO access", "@bloom @read", "dont_cache"),
    ("bf.loadchunk KEY 1 x", "write denyoom", "RW insert", "@bloom @write", ""),
];

/// The names of all commands.
fn all_names() -> BTreeSet<String> {
    COMMANDS.iter().map(|(call, ..)| word(call, 0)).chain(["bf.help"]).map(str::to_owned).collect()
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

/// The names in an array or a set, of either kind of string.
fn names(value: &Value) -> BTreeSet<String> {
    let name = |value: &Value| match value {
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("expected a name, got {}", show(other)),
    };
    elements(value).iter().map(name).collect()
}

/// The value behind a name in a flat array.
fn field<'a>(pairs: &'a Value, name: &str) -> &'a Value {
    let found = elements(pairs)
        .chunks(2)
        .find(|pair| names(&Value::Array(vec![pair[0].clone()])).contains(name));
    &found.unwrap_or_else(|| panic!("no {name} in {}", show(pairs)))[1]
}

#[test]
fn flags_are_those_of_what_a_command_does() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (call, flags, ..) in COMMANDS {
            let name = word(call, 0);
            let reply = client.call(&format!("COMMAND INFO {name}"));
            let mut told = names(&elements(&elements(&reply)[0])[2]);
            // Which commands are a module's is told since 7.0.
            assert_eq!(told.remove("module"), !kind.is_before_7(), "{name}");
            assert_eq!(told, words(flags), "{name}");
        }
    });
}

#[test]
fn every_key_is_found_with_what_is_done_to_it() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (call, _, key_flags, ..) in COMMANDS {
            let name = word(call, 0);
            assert_eq!(client.ask(&format!("COMMAND GETKEYS {call}")), "*[$3 KEY]", "{name}");
            if kind.is_before_7() {
                continue;
            }
            let reply = client.call(&format!("COMMAND INFO {name}"));
            let specs = elements(&elements(&elements(&reply)[0])[8]);
            let [spec] = specs else { panic!("{name}: {} key specifications", specs.len()) };
            assert_eq!(names(field(spec, "flags")), words(key_flags), "{name}");
            let (begin, find) = (field(spec, "begin_search"), field(spec, "find_keys"));
            assert_eq!(show(field(field(begin, "spec"), "index")), ":1", "{name}");
            assert_eq!(show(field(field(find, "spec"), "lastkey")), ":0", "{name}");
            let told = client.ask(&format!("COMMAND GETKEYSANDFLAGS {call}"));
            assert!(told.starts_with("*[*[$3 KEY "), "{name}: {told}");
            for flag in words(key_flags) {
                assert!(told.contains(&flag), "{name}: no {flag} in {told}");
            }
        }
    });
}

#[test]
fn categories_are_bloom_with_those_of_the_servers_own_commands() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        if !kind.has_acl_categories() {
            assert!(!names(&client.call("ACL CAT")).contains("bloom"));
            return;
        }
        for (call, _, _, categories, _) in COMMANDS {
            let name = word(call, 0);
            let reply = client.call(&format!("COMMAND INFO {name}"));
            assert_eq!(names(&elements(&elements(&reply)[0])[6]), words(categories), "{name}");
        }
        let expected = all_names();
        let told = names(&client.call("ACL CAT bloom"));
        // This one leaves the commands of modules out of all its lists.
        assert!(told == expected || told.is_empty() && kind.series() == "valkey-8.0", "{told:?}");
    });
}

#[test]
fn all_commands_are_listed_as_the_modules() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            // It knows no COMMAND LIST.
            return;
        }
        let server = Setup::new().start(kind);
        let expected = all_names();
        assert_eq!(names(&server.resp2().call("COMMAND LIST FILTERBY MODULE bf")), expected);
    });
}

#[test]
fn tips_keep_caches_from_what_changes_without_a_write() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            // It tells no tips.
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
