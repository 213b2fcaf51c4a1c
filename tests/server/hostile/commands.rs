//! Arguments that could break the protocol, and calls of many items. `commands::numbers` and
//! `boundaries` have the numbers that are refused, `keyspace::changes` the calls that change
//! nothing.

use bloomline_harness::{Setup, bulk, numbered, show};
use redis::Value;

#[test]
fn unknown_arguments_cannot_break_the_protocol() {
    let long = vec![b'w'; 1 << 20];
    let words: [&[u8]; 5] = [b"a\r\n+OK\r\n", b"\n", b"\x00", b"\xff\xfe%s%n", &long];
    Setup::new().on_shared_servers(|mut client, _| {
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
    Setup::new().on_shared_servers(|mut client, _| {
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
        assert_eq!(show(&client.run(&[&b"BF.ADD"[..], b"k".as_slice(), &large])), ":1");
        assert_eq!(show(&client.run(&[&b"BF.EXISTS"[..], b"k".as_slice(), &large])), ":1");
        assert!(!bulk(&client.call("DUMP k")).is_empty());
    });
}
