//! Invalid commands of any kind: the reply is an error, nothing changes, and the server still
//! answers.

use bloomline_harness::{Client, Setup, arguments, bulk, numbered, show};
use redis::Value;

/// Creates the keys that every call meets: two filters and a string.
fn fill(client: &mut Client) {
    client.ok("FLUSHALL");
    client.ok("BF.RESERVE ns 0.01 2 NONSCALING");
    client.call("BF.MADD ns a b");
    client.call("BF.ADD k a");
    client.ok("SET text value");
}

/// Everything that must not change: the number of keys and the bytes of each.
fn state(client: &mut Client) -> Vec<String> {
    ["DBSIZE", "DUMP ns", "DUMP k", "DUMP text"].iter().map(|line| client.ask(line)).collect()
}

fn assert_refused(client: &mut Client, call: &[Vec<u8>]) {
    let line =
        call.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join(" ");
    let before = state(client);
    let reply = client.run(call);
    let text = show(&reply);
    assert!(text.starts_with('-'), "{line} returned {text}");
    client.assert_answers_ping(&line);
    assert_eq!(state(client), before, "{line} changed something");
}

#[test]
fn numbers_out_of_range_change_nothing() {
    let numbers = [
        "",
        "abc",
        "nan",
        "-nan",
        "inf",
        "-inf",
        "1e",
        "--1",
        "0x",
        "-1",
        "-0.5",
        "0",
        "-0",
        "1e-16",
        "1e-300",
        "5e-324",
        "1e400",
        "1.0000001",
        "1099511627777",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "99999999999999999999999999999999",
        "1 ",
        " 1",
        "1\x00",
        "0.01\x00",
    ];
    Setup::new().on_each_server(|mut client, _| {
        fill(&mut client);
        for number in numbers {
            let calls: [&[&str]; 7] = [
                &["BF.RESERVE", "new", number, "100"],
                &["BF.RESERVE", "new", "0.01", number],
                &["BF.RESERVE", "new", number, number, "EXPANSION", number],
                &["BF.INSERT", "new", "ERROR", number, "ITEMS", "a"],
                &["BF.INSERT", "new", "CAPACITY", number, "ITEMS", "a"],
                &["BF.LOADCHUNK", "k", number, "data"],
                &["BF.BULKADD", "k", "FIXED", number, "data"],
            ];
            for call in calls {
                let call: Vec<Vec<u8>> = call.iter().map(|word| word.as_bytes().to_vec()).collect();
                assert_refused(&mut client, &call);
            }
        }
    });
}

#[test]
fn invalid_calls_change_nothing() {
    let lines = [
        // Wrong number of arguments.
        "BF.ADD k",
        "BF.MADD k",
        "BF.RESERVE new 0.01",
        "BF.INSERT k ITEMS",
        "BF.LOADCHUNK new 1",
        "BF.CARD",
        "BF.INFO",
        // Wrong type.
        "BF.ADD text a",
        "BF.MADD text a",
        "BF.INSERT text ITEMS a",
        "BF.BULKADD text LINES a",
        "BF.RESERVE text 0.01 100",
        "BF.CARD text",
        "BF.INFO text",
        "BF.DEBUG text",
        "BF.SCANDUMP text 0",
        "BF.LOADCHUNK text 1 data",
        // Contradictions.
        "BF.RESERVE new 0.01 100 EXPANSION 2 NONSCALING",
        "BF.RESERVE new 0.01 100 NONSCALING EXPANSION 1",
        "BF.RESERVE k 0.01 100",
        "BF.INSERT new NOCREATE ITEMS a",
        "BF.ADD ns new",
        "BF.RESERVE new 0.01 100 EXPANSION -1",
        "BF.RESERVE new 0.01 100 EXPANSION 9223372036854775808",
        // Chunks that no dump contains.
        r#"BF.LOADCHUNK new 1 """#,
        "BF.LOADCHUNK new 1 garbage",
        "BF.LOADCHUNK new 2 garbage",
        "BF.LOADCHUNK new 0 x",
        "BF.LOADCHUNK new -1 x",
        "BF.LOADCHUNK new 9223372036854775807 x",
        "BF.LOADCHUNK k 0 x",
        "BF.LOADCHUNK k -1 x",
        "BF.LOADCHUNK k 9223372036854775807 x",
        "BF.LOADCHUNK k 1 garbage",
        "RESTORE new 0 garbage",
    ];
    Setup::new().on_each_server(|mut client, _| {
        fill(&mut client);
        for line in lines {
            assert_refused(&mut client, &arguments(line));
        }
    });
}

#[test]
fn unknown_arguments_cannot_break_the_protocol() {
    let long = vec![b'w'; 1 << 20];
    let words: [&[u8]; 5] = [b"a\r\n+OK\r\n", b"\n", b"\x00", b"\xff\xfe%s%n", &long];
    Setup::new().on_each_server(|mut client, _| {
        fill(&mut client);
        for word in words {
            for call in [
                [b"BF.RESERVE", b"new".as_slice(), b"0.01", b"10", word],
                [b"BF.INSERT", b"new", word, b"ITEMS", b"a"],
            ] {
                let reply = show(&client.run(&call));
                assert!(
                    reply.starts_with("-Unknown argument received: '") && reply.len() < 70,
                    "{}",
                    &reply[..reply.len().min(200)]
                );
                client.assert_answers_ping("an unknown argument");
            }
        }
        assert_eq!(client.ask("EXISTS new"), ":0");
    });
}

#[test]
fn calls_of_100000_items_are_answered_completely() {
    Setup::new().on_each_server(|mut client, _| {
        let items = numbered("item", 100_000);
        // The error rate is so small that the last item is certainly new.
        assert_eq!(show(&client.call("BF.RESERVE k 0.0000001 100")), "+OK");
        let Value::Array(added) = client.items("BF.MADD", "k", &items) else { panic!("an array") };
        assert_eq!(added.len(), items.len());
        let Value::Array(found) = client.items("BF.MEXISTS", "k", &items) else {
            panic!("an array")
        };
        assert!(found.iter().all(|answer| *answer == Value::Int(1)));
        let large = vec![b'x'; 8 << 20];
        assert_eq!(show(&client.run(&[b"BF.ADD", b"k".as_slice(), &large])), ":1");
        assert_eq!(show(&client.run(&[b"BF.EXISTS", b"k".as_slice(), &large])), ":1");
        assert!(!bulk(&client.call("DUMP k")).is_empty());
    });
}
