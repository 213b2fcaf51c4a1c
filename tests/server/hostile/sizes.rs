//! Commands of the largest sizes that the server accepts: a million arguments, items and keys of
//! 512 MB.

use bloomline_harness::{Client, Setup, for_newest_servers, numbered, show};
use redis::Value;

/// The default limit on one string from a client.
const LONGEST: usize = 512 << 20;

#[test]
fn a_million_arguments_are_answered_or_refused() {
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let items = numbered("item", 1_000_000);
        client.ok("BF.RESERVE k 0.0000001 1000000");
        for command in ["BF.MADD", "BF.MEXISTS"] {
            let Value::Array(answers) = client.items(command, "k", &items) else {
                panic!("an array")
            };
            assert_eq!(answers.len(), items.len(), "{command}");
            let ones = answers.iter().filter(|answer| **answer == Value::Int(1)).count();
            // The expected number of false positives is 0.1.
            assert!(ones >= items.len() - 3, "{command}: {ones}");
        }
        let insert: Vec<&[u8]> = ["BF.INSERT", "other", "CAPACITY", "1000000", "ITEMS"]
            .into_iter()
            .map(str::as_bytes)
            .chain(items.iter().map(Vec::as_slice))
            .collect();
        let Value::Array(answers) = client.run(&insert) else { panic!("an array") };
        assert_eq!(answers.len(), items.len());
        let many = b"$1\r\na\r\n".repeat(1_000_000);
        for line in [
            "BF.ADD k",
            "BF.EXISTS k",
            "BF.CARD k",
            "BF.INFO k",
            "BF.RESERVE new 0.01 100",
            "BF.DEBUG k",
        ] {
            let words: Vec<_> = line.split(' ').collect();
            client.send_raw(head(&words, 1_000_000).as_bytes());
            client.send_raw(&many);
            let refused = show(&client.receive(line));
            assert!(refused.starts_with('-') && refused.len() < 300, "{line}: {refused}");
        }
        let call: Vec<&[u8]> = ["BF.INSERT", "new"]
            .iter()
            .map(|word| word.as_bytes())
            .chain((0..500_000).flat_map(|_| [b"CAPACITY".as_slice(), b"10"]))
            .chain([b"ITEMS".as_slice(), b"a"])
            .collect();
        assert_eq!(show(&client.run(&call)), "*[:1]");
        client.assert_answers_ping("a million arguments");
    });
}

/// The first arguments of a command, to which `more` must be sent.
fn head(arguments: &[&str], more: usize) -> String {
    let mut head = format!("*{}\r\n", arguments.len() + more);
    for argument in arguments {
        head += &format!("${}\r\n{argument}\r\n", argument.len());
    }
    head
}

/// Sends a command whose last argument has `length` bytes, without building it in memory; returns
/// the reply.
fn with_last_argument(client: &mut Client, arguments: &[&str], length: usize) -> Value {
    let block = vec![b'x'; 16 << 20];
    client.send_raw(format!("{}${length}\r\n", head(arguments, 1)).as_bytes());
    let mut left = length;
    while left > 0 {
        let part = left.min(block.len());
        client.send_raw(&block[..part]);
        left -= part;
    }
    client.send_raw(b"\r\n");
    client.receive(arguments[0])
}

#[test]
fn items_and_keys_of_512_mb_work() {
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.0000001 100");
        assert_eq!(show(&with_last_argument(&mut client, &["BF.ADD", "k"], LONGEST)), ":1");
        assert_eq!(show(&with_last_argument(&mut client, &["BF.EXISTS", "k"], LONGEST)), ":1");
        assert_eq!(show(&with_last_argument(&mut client, &["BF.EXISTS", "k"], LONGEST - 1)), ":0");
        // A key of that length is looked up and does not exist.
        assert_eq!(show(&with_last_argument(&mut client, &["BF.CARD"], LONGEST)), ":0");
        client.assert_answers_ping("long arguments");
        drop(client);
        let mut client = server.resp2();
        // A number, an iterator, a field and an option of 64 MB.
        for arguments in [
            &["BF.RESERVE", "new", "0.01"][..],
            &["BF.SCANDUMP", "k"],
            &["BF.INFO", "k"],
            &["BF.RESERVE", "new", "0.01", "100"],
        ] {
            let refused = show(&with_last_argument(&mut client, arguments, 64 << 20));
            assert!(
                refused.starts_with('-') && refused.len() < 300,
                "{arguments:?}: {} bytes",
                refused.len()
            );
        }
        client.assert_answers_ping("long arguments");
        assert_eq!(client.ask("BF.INFO k ITEMS"), "*[:1]");
    });
}
