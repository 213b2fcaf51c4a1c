//! Commands as long as the server lets them be: a million words, items and keys of 512 MB.

use redis::Value;

use bloomline_harness::{Client, Setup, for_newest_servers, numbered, show};

/// The longest string that a server takes from a client, unless it is told otherwise.
const LONGEST: usize = 512 << 20;

#[test]
fn a_command_of_a_million_words_is_answered_whole_or_refused() {
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let items = numbered("item", 1_000_000);
        client.ok("BF.RESERVE k 0.0000001 100");
        for command in ["BF.MADD", "BF.MEXISTS"] {
            let Value::Array(answers) = client.items(command, "k", &items) else {
                panic!("an array")
            };
            assert_eq!(answers.len(), items.len(), "{command}");
            let ones = answers.iter().filter(|answer| **answer == Value::Int(1)).count();
            // A tenth of an item is mistaken for one that is there.
            assert!(ones >= items.len() - 3, "{command}: {ones}");
        }
        let insert: Vec<&[u8]> = [b"BF.INSERT".as_slice(), b"other", b"ITEMS"]
            .into_iter()
            .chain(items.iter().map(Vec::as_slice))
            .collect();
        let Value::Array(answers) = client.run(&insert) else { panic!("an array") };
        assert_eq!(answers.len(), items.len());
        for line in [
            "BF.ADD k",
            "BF.EXISTS k",
            "BF.CARD k",
            "BF.INFO k",
            "BF.RESERVE new 0.01 100",
            "BF.DEBUG k",
        ] {
            let words: Vec<&[u8]> =
                line.split(' ').map(str::as_bytes).chain(items.iter().map(Vec::as_slice)).collect();
            let refused = show(&client.run(&words));
            assert!(refused.starts_with('-') && refused.len() < 300, "{line}: {refused}");
        }
        let words: Vec<&[u8]> = ["BF.INSERT", "new"]
            .iter()
            .map(|word| word.as_bytes())
            .chain((0..500_000).flat_map(|_| [b"CAPACITY".as_slice(), b"10"]))
            .chain([b"ITEMS".as_slice(), b"a"])
            .collect();
        assert_eq!(show(&client.run(&words)), "*[:1]");
        client.assert_answers_ping("a million words");
    });
}

/// Sends a command whose last word has so many bytes, without building it; the reply.
fn with_last_word(client: &mut Client, words: &[&str], length: usize) -> Value {
    let block = vec![b'x'; 16 << 20];
    let mut head = format!("*{}\r\n", words.len() + 1);
    for word in words {
        head += &format!("${}\r\n{word}\r\n", word.len());
    }
    client.send_raw(format!("{head}${length}\r\n").as_bytes());
    let mut left = length;
    while left > 0 {
        let piece = left.min(block.len());
        client.send_raw(&block[..piece]);
        left -= piece;
    }
    client.send_raw(b"\r\n");
    client.receive(words[0])
}

#[test]
fn an_item_or_a_key_of_512_megabytes_is_one_like_any_other() {
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.0000001 100");
        assert_eq!(show(&with_last_word(&mut client, &["BF.ADD", "k"], LONGEST)), ":1");
        assert_eq!(show(&with_last_word(&mut client, &["BF.EXISTS", "k"], LONGEST)), ":1");
        assert_eq!(show(&with_last_word(&mut client, &["BF.EXISTS", "k"], LONGEST - 1)), ":0");
        // A key of that length holds nothing, and is asked for all the same.
        assert_eq!(show(&with_last_word(&mut client, &["BF.CARD"], LONGEST)), ":0");
        client.assert_answers_ping("long words");
        drop(client);
        let mut client = server.resp2();
        // A number, an option, an iterator that is longer than any.
        for words in [
            &["BF.RESERVE", "new", "0.01"][..],
            &["BF.SCANDUMP", "k"],
            &["BF.INFO", "k"],
            &["BF.RESERVE", "new", "0.01", "100"],
        ] {
            let refused = show(&with_last_word(&mut client, words, 64 << 20));
            assert!(
                refused.starts_with('-') && refused.len() < 300,
                "{words:?}: {} bytes",
                refused.len()
            );
        }
        client.assert_answers_ping("long words");
        assert_eq!(client.ask("BF.INFO k ITEMS"), "*[:1]");
    });
}
