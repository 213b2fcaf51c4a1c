//! What the data means: items, or an error, after which nothing was added and no filter created.

use bloomline_harness::{Client, Setup, show};

use crate::inspect::{digest, totals};
use crate::packed::{FORMS, Form, answers, plain};

const MISPLACED: &str = "-ERR COUNT must come before the form or after the data: COUNT LINES data";

/// The arguments after the key, and the error.
const ERRORS: &[(&str, &str)] = &[
    ("FIXED 0 data", "-ERR width must be a positive integer"),
    ("FIXED -1 data", "-ERR width must be a positive integer"),
    ("FIXED four data", "-ERR width must be a positive integer"),
    ("FIXED 4.0 data", "-ERR width must be a positive integer"),
    (r#"FIXED "" data"#, "-ERR width must be a positive integer"),
    (r#"FIXED "4\x00" data"#, "-ERR width must be a positive integer"),
    ("FIXED 18446744073709551616 data", "-ERR width must be a positive integer"),
    (
        "FIXED 18446744073709551615 data",
        "-ERR the data has 4 bytes, which is no multiple of 18446744073709551615",
    ),
    ("FIXED 5 data", "-ERR the data has 4 bytes, which is no multiple of 5"),
    ("FIXED 4 datadata1", "-ERR the data has 9 bytes, which is no multiple of 4"),
    ("PACKED data", "-ERR items must be packed as FIXED width, PREFIXED or LINES"),
    (r#""LINES\x00" data"#, "-ERR items must be packed as FIXED width, PREFIXED or LINES"),
    ("COUNT COUNT data", "-ERR items must be packed as FIXED width, PREFIXED or LINES"),
    ("data COUNT", "-ERR items must be packed as FIXED width, PREFIXED or LINES"),
    ("4 FIXED data", "-ERR items must be packed as FIXED width, PREFIXED or LINES"),
    ("PREFIXED data", "-ERR item 1 does not fit the 4 bytes that are left"),
    ("PREFIXED abc", "-ERR item 1 does not fit the 3 bytes that are left"),
    (r#"PREFIXED "\x01\x00\x00\x00ab""#, "-ERR item 2 does not fit the 1 bytes that are left"),
    (
        r#"PREFIXED "\x01\x00\x00\x00a\x02\x00\x00\x00b""#,
        "-ERR item 2 does not fit the 5 bytes that are left",
    ),
    // The length is little-endian.
    (r#"PREFIXED "\x00\x00\x00\x01a""#, "-ERR item 1 does not fit the 5 bytes that are left"),
    ("LINES data ALL", "-Unknown argument received: 'ALL'"),
    ("FIXED 4 data LINES", "-Unknown argument received: 'LINES'"),
    ("COUNT LINES data COUNT", "-Unknown argument received: 'COUNT'"),
    ("COUNT FIXED 4 data COUNT", "-Unknown argument received: 'COUNT'"),
    (r#"LINES data """#, "-Unknown argument received: ''"),
    // What `redis-cli -x` sends for `LINES COUNT`: the file is not shown.
    (r#"LINES COUNT "1\n2\n3""#, MISPLACED),
    ("FIXED 4 count datadata", MISPLACED),
    (r#"LINES data "1\n2\n3""#, "-Unknown argument received: '1...'"),
    (
        "LINES data https://example.org/a/page/that/is/long",
        "-Unknown argument received: 'https://example.org/a/page/that/...'",
    ),
    // The form is checked first, then the width, COUNT and the data.
    ("FIXED 0 data ALL", "-ERR width must be a positive integer"),
    ("FIXED 3 data ALL", "-Unknown argument received: 'ALL'"),
    ("PREFIXED data ALL", "-Unknown argument received: 'ALL'"),
];

/// Asserts that both commands refuse these arguments, and that nothing has changed.
fn assert_refused(
    client: &mut Client,
    call: impl Fn(&mut Client, &str, &str) -> String,
    error: &str,
) {
    client.ok("SET text value");
    let before = (digest(client, "k"), totals(client));
    // The data is checked before the type of the key.
    for (command, key) in ["BF.BULKADD", "BF.BULKEXISTS"]
        .iter()
        .flat_map(|command| ["k", "missing", "text"].map(|key| (*command, key)))
    {
        let reply = call(client, command, key);
        assert!(bloomline_harness::matches(error, &reply), "{command} {key}: {reply}, not {error}");
    }
    assert_eq!((digest(client, "k"), totals(client)), before);
    assert_eq!(client.ask("EXISTS missing"), ":0");
    assert_eq!(client.ask("GET text"), "$5 value");
}

#[test]
fn every_error_changes_nothing() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        assert_eq!(client.ask("BF.ADD k old"), ":1");
        for (args, error) in ERRORS {
            let call = |client: &mut Client, command: &str, key: &str| {
                client.ask(&format!("{command} {key} {args}"))
            };
            assert_refused(&mut client, call, error);
        }
        client.assert_answers_ping("the last error");
    });
}

#[test]
fn every_truncation_of_prefixed_items_is_refused() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.000001 100");
        let items: [&[u8]; 6] = [b"one", b"", b"\0\0\0\0", b"\x01\0\0\0x", b"a longer item", b"z"];
        let [_, data] = Form::Prefixed.args(&items).try_into().expect("form and data");
        let ends: Vec<usize> = items
            .iter()
            .scan(0, |end, item| {
                *end += 4 + item.len();
                Some(*end)
            })
            .collect();
        for len in 1..data.len() {
            let whole = ends.iter().filter(|&&end| end <= len).count();
            if ends.contains(&len) {
                continue;
            }
            let left = len - whole.checked_sub(1).map_or(0, |last| ends[last]);
            let call = |client: &mut Client, command: &str, key: &str| {
                show(&client.run(&[command.as_bytes(), key.as_bytes(), b"PREFIXED", &data[..len]]))
            };
            let number = whole + 1;
            let error = format!("-ERR item {number} does not fit the {left} bytes that are left");
            assert_refused(&mut client, call, &error);
        }
        // At the ends of items there are fewer items.
        for (count, &end) in ends.iter().enumerate() {
            let reply = client.run(&[b"BF.BULKEXISTS", &b"k"[..], b"PREFIXED", &data[..end]]);
            assert_eq!(answers(&reply), (vec![false; count + 1], None));
        }
    });
}

#[test]
fn lengths_beyond_the_data_are_refused() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        assert_eq!(client.ask("BF.ADD k old"), ":1");
        for len in
            [4, 5, 255, 256, 65_536, 1 << 24, i32::MAX as u32, 1 << 31, u32::MAX - 4, u32::MAX]
        {
            let data = [&3_u32.to_le_bytes()[..], b"abc", &len.to_le_bytes(), b"xyz"].concat();
            let call = |client: &mut Client, command: &str, key: &str| {
                show(&client.run(&[command.as_bytes(), key.as_bytes(), b"PREFIXED", &data]))
            };
            assert_refused(&mut client, call, "-ERR item 2 does not fit the 7 bytes that are left");
        }
        let data = [&3_u32.to_le_bytes()[..], b"abc"].concat();
        assert_eq!(
            show(&client.run(&[b"BF.BULKADD", &b"k"[..], b"PREFIXED", &data])),
            "*[:1 $1 \\x80]"
        );
    });
}

#[test]
fn lines_are_the_items_between_their_ends() {
    // The data, and its items.
    let lines: [(&str, &[&str]); 14] = [
        ("a", &["a"]),
        ("a\n", &["a"]),
        ("a\r\n", &["a"]),
        ("a\r", &["a"]),
        ("a\nb", &["a", "b"]),
        ("a\r\nb\nc\r\n", &["a", "b", "c"]),
        ("a\rb\n", &["a\rb"]),
        ("\ra\n", &["\ra"]),
        ("a\r\r\n", &["a\r"]),
        ("\r\r\n", &["\r"]),
        ("a\r\r\r\nb", &["a\r\r", "b"]),
        (" a \n\tb", &[" a ", "\tb"]),
        ("\0\n\0\0\n", &["\0", "\0\0"]),
        ("é\u{85}\u{2028}x\x0b\x0c\n", &["é\u{85}\u{2028}x\x0b\x0c"]),
    ];
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for (data, items) in lines {
            for key in ["plain", "packed"] {
                client.ok(&format!("BF.RESERVE {key} 0.000001 100 SEED 5"));
            }
            plain(&mut client, "BF.MADD", "plain", items);
            let reply = client.run(&["BF.BULKADD", "packed", "LINES", data]);
            assert_eq!(answers(&reply), (vec![true; items.len()], None), "{data:?}");
            assert_eq!(digest(&mut client, "packed"), digest(&mut client, "plain"), "{data:?}");
            let reply = client.run(&["BF.BULKEXISTS", "plain", "LINES", data]);
            assert_eq!(answers(&reply), (vec![true; items.len()], None), "{data:?}");
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn empty_lines_answer_0_and_are_no_items() {
    // The data, and what BF.BULKADD answers; the answers have the places of the lines.
    let all: [(&str, &[u8]); 8] = [
        ("\n", &[0]),
        ("\r", &[0]),
        ("\r\n\n\r", &[0, 0, 0]),
        ("\na", &[0, 1]),
        ("a\n\n", &[1, 0]),
        ("a\r\nb\r\n\r\nc", &[1, 1, 0, 1]),
        ("a\nb\nc\n\r", &[1, 1, 1, 0]),
        ("\n\na\n\na\n\n\nb\n\n", &[0, 0, 1, 0, 0, 0, 0, 1, 0]),
    ];
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for (data, added) in all {
            let bits = |answers: &[u8]| answers.iter().map(|bit| *bit == 1).collect::<Vec<_>>();
            let reply = client.run(&["BF.BULKADD", "k", "LINES", data]);
            assert_eq!(answers(&reply), (bits(added), None), "{data:?}");
            let items: Vec<&str> = data.lines().map(|line| line.trim_end_matches('\r')).collect();
            let found: Vec<u8> = items.iter().map(|item| u8::from(!item.is_empty())).collect();
            let reply = client.run(&["BF.BULKEXISTS", "k", "LINES", data]);
            assert_eq!(answers(&reply), (bits(&found), None), "{data:?}");
            let counted = client.run(&["BF.BULKEXISTS", "k", "LINES", data, "COUNT"]);
            let ones = found.iter().filter(|bit| **bit == 1).count();
            assert_eq!(show(&counted), format!("*[:{} :{ones}]", items.len()), "{data:?}");
            let distinct = added.iter().filter(|bit| **bit == 1).count();
            assert_eq!(client.ask("BF.CARD k"), format!(":{distinct}"), "{data:?}");
            // Empty lines alone create no filter.
            assert_eq!(client.ask("EXISTS k"), format!(":{}", u8::from(distinct > 0)), "{data:?}");
            client.ok("FLUSHALL");
        }
        // The empty item is another thing.
        assert_eq!(client.ask(r#"BF.ADD k """#), ":1");
        assert_eq!(client.ask(r#"BF.BULKEXISTS k LINES "\n\n""#), r"*[:2 $1 \x00]");
    });
}

#[test]
fn no_data_is_no_item() {
    Setup::new().debug().on_each_server(|mut client, _| {
        client.ok("SET text value");
        assert_eq!(client.ask("BF.ADD k old"), ":1");
        let before = (digest(&mut client, "k"), totals(&mut client));
        for form in FORMS {
            let args = match form {
                Form::Fixed => "FIXED 8",
                Form::Prefixed => "PREFIXED",
                Form::Lines => "LINES",
            };
            for (command, key) in ["BF.BULKADD", "BF.BULKEXISTS"]
                .iter()
                .flat_map(|command| ["k", "missing", "text"].map(|key| (command, key)))
            {
                assert_eq!(client.ask(&format!(r#"{command} {key} {args} """#)), "*[:0 $0 ]");
                assert_eq!(client.ask(&format!(r#"{command} {key} {args} "" COUNT"#)), "*[:0 :0]");
                assert_eq!(client.ask(&format!(r#"{command} {key} COUNT {args} """#)), "*[:0 :0]");
            }
        }
        assert_eq!((digest(&mut client, "k"), totals(&mut client)), before);
        assert_eq!(client.ask("EXISTS missing"), ":0");
        assert_eq!(client.ask("GET text"), "$5 value");
    });
}
