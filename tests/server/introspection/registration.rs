//! What the server reports to clients about the commands: arity, flags, position of the key.

use std::collections::BTreeSet;

use bloomline_harness::{Setup, for_each_server, show};
use redis::Value;

/// Name, arity, flags, flag of the key, category in addition to `@bloom` or `@cuckoo`.
const COMMANDS: [(&str, i64, &str, &str, &str); 32] = [
    ("bf.reserve", -4, "write denyoom", "RW", "@write"),
    ("bf.add", 3, "write denyoom", "RW", "@write"),
    ("bf.madd", -3, "write denyoom", "RW", "@write"),
    ("bf.bulkadd", -4, "write denyoom", "RW", "@write"),
    ("bf.insert", -4, "write denyoom", "RW", "@write"),
    ("bf.rotate", -2, "write denyoom", "RW", "@write"),
    ("bf.exists", 3, "readonly", "RO", "@read"),
    ("bf.mexists", -3, "readonly", "RO", "@read"),
    ("bf.bulkexists", -4, "readonly", "RO", "@read"),
    ("bf.info", -2, "readonly", "RO", "@read"),
    ("bf.card", 2, "readonly", "RO", "@read"),
    ("bf.debug", 2, "readonly", "RO", "@read"),
    ("bf.scandump", 3, "readonly", "RO", "@read"),
    ("bf.loadchunk", 4, "write denyoom", "RW", "@write"),
    ("cf.reserve", -3, "write denyoom", "RW", "@write"),
    ("cf.add", 3, "write denyoom", "RW", "@write"),
    ("cf.addnx", 3, "write denyoom", "RW", "@write"),
    ("cf.insert", -4, "write denyoom", "RW", "@write"),
    ("cf.insertnx", -4, "write denyoom", "RW", "@write"),
    ("cf.exists", 3, "readonly", "RO", "@read"),
    ("cf.mexists", -3, "readonly", "RO", "@read"),
    ("cf.count", 3, "readonly", "RO", "@read"),
    ("cf.del", 3, "write", "RW", "@write"),
    ("cf.bulkadd", -4, "write denyoom", "RW", "@write"),
    ("cf.bulkexists", -4, "readonly", "RO", "@read"),
    ("cf.bulkdel", -4, "write", "RW", "@write"),
    ("cf.mdel", -3, "write", "RW", "@write"),
    ("cf.compact", 2, "write", "RW", "@write"),
    ("cf.info", -2, "readonly", "RO", "@read"),
    ("cf.debug", 2, "readonly", "RO", "@read"),
    ("cf.scandump", 3, "readonly", "RO", "@read"),
    ("cf.loadchunk", 4, "write denyoom", "RW", "@write"),
];

fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) | Value::Set(elements) => elements,
        other => panic!("expected an array, got {}", show(other)),
    }
}

fn set_of(value: &Value) -> BTreeSet<String> {
    elements(value).iter().map(|flag| show(flag).trim_start_matches('+').to_owned()).collect()
}

#[test]
fn arity_flags_and_key_position_are_reported() {
    Setup::new().on_each_server(|mut client, server| {
        for (name, arity, flags, key_flag, category) in COMMANDS {
            let reply = client.call(&format!("COMMAND INFO {name}"));
            let info = elements(&elements(&reply)[0]);
            assert_eq!(
                show(&info[0]),
                format!("${} {name}", name.len()),
                "the server's errors use this name"
            );
            // Without GetCommand and SetCommandInfo, Redis 6.2 does not know the arity of a
            // module's command.
            let expected_arity = if server.kind.is_before_7() { -1 } else { arity };
            assert_eq!(show(&info[1]), format!(":{expected_arity}"), "arity of {name}");
            let mut found_flags = set_of(&info[2]);
            // Which reads have the flag `fast` is tuning. The other flags decide about access.
            found_flags.remove("fast");
            // Redis 6.2 does not flag the commands of modules.
            found_flags.remove("module");
            let expected: BTreeSet<String> = flags.split(' ').map(str::to_owned).collect();
            assert_eq!(found_flags, expected, "flags of {name}");
            assert_eq!(
                (show(&info[3]), show(&info[4]), show(&info[5])),
                (":1".into(), ":1".into(), ":1".into()),
                "{name}"
            );
            if !server.kind.is_before_7() {
                let spec = show(&info[8]);
                assert!(spec.contains(&format!("+{key_flag}")), "key of {name}: {spec}");
            }
            if server.kind.has_acl_categories() {
                let categories = set_of(&info[6]);
                let family = if name.starts_with("bf.") { "@bloom" } else { "@cuckoo" };
                assert!(
                    categories.contains(family) && categories.contains(category),
                    "{name}: {categories:?}"
                );
            }
        }
    });
}

/// The warnings in a log, without numbers, which differ from start to start.
fn warnings(log: &str) -> BTreeSet<String> {
    let text =
        |line: &str| Some(line.split_once(" # ")?.1.replace(|c: char| c.is_ascii_digit(), ""));
    log.lines().filter_map(text).collect()
}

#[test]
fn loading_logs_no_warning() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let without = Setup::new().bare().start(kind);
        assert!(server.log().len() > without.log().len(), "the log names the module");
        assert_eq!(warnings(&server.log()), warnings(&without.log()));
    });
}

#[test]
fn the_module_is_called_bf() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let modules = show(&server.resp2().call("MODULE LIST"));
        assert!(modules.contains("$4 name $2 bf "), "{modules}");
    });
}
