//! Packed items leave the same filter, and get the same answers, as those of BF.MADD and
//! BF.MEXISTS.

use bloomline_harness::{Client, Random, Setup, bulk, int, show};
use redis::Value;

use crate::inspect::digest;
use crate::packed::{FORMS, Form, add, answers, exists, plain, send};

/// Filters that grow: their layouts, and options which make two of them equal.
const FILTERS: [&str; 2] = ["LAYOUT redisbloom", "SEED 7"];

/// Items of each call of a sequence.
const SPLITS: [usize; 12] = [1, 63, 64, 65, 0, 2, 127, 128, 129, 1, 500, 1000];

/// Creates equal filters.
fn create(client: &mut Client, keys: &[&str], options: &str) {
    for key in keys {
        client.ok(&format!("BF.RESERVE {key} 0.001 100 {options}"));
    }
}

/// Asserts that two filters are equal, by everything that is reported of them.
fn assert_equal(client: &mut Client, one: &str, other: &str) {
    assert_eq!(digest(client, one), digest(client, other), "{one} and {other}");
    for question in ["BF.INFO", "BF.DEBUG", "BF.CARD"] {
        let [first, second] = [one, other].map(|key| client.ask(&format!("{question} {key}")));
        assert_eq!(first, second, "{question} of {one} and {other}");
    }
}

/// `count` items of eight bytes out of `most`, so that some repeat; those of lines contain no LF.
fn draw(random: &mut Random, form: Form, count: usize, most: u64) -> Vec<Vec<u8>> {
    let mut item = || {
        let number = random.next() % most;
        match form {
            Form::Lines => format!("{number:08}").into_bytes(),
            Form::Fixed | Form::Prefixed => (number * 0x0d0a_0a0d_0001).to_le_bytes().to_vec(),
        }
    };
    (0..count).map(|_| item()).collect()
}

#[test]
fn random_splits_leave_the_filter_of_madd() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for (options, form) in FILTERS.iter().flat_map(|options| FORMS.map(|form| (options, form)))
        {
            create(&mut client, &["plain", "packed", "counted"], options);
            let mut random = Random(3);
            for round in 0..30 {
                let count = SPLITS.get(round).copied();
                let count = count.unwrap_or_else(|| random.next() as usize % 200);
                let items = draw(&mut random, form, count, 3000);
                let expected = plain(&mut client, "BF.MADD", "plain", &items);
                assert_eq!(add(&mut client, "packed", form, &items), expected, "{form:?}");
                let counted = send(&mut client, "BF.BULKADD", "counted", form, &items, &["count"]);
                let ones = expected.iter().filter(|is_new| **is_new).count();
                assert_eq!(show(&counted), format!("*[:{count} :{ones}]"));
                let items = draw(&mut random, form, count, 3000);
                let expected = plain(&mut client, "BF.MEXISTS", "plain", &items);
                assert_eq!(exists(&mut client, "packed", form, &items), expected, "{form:?}");
                let counted =
                    send(&mut client, "BF.BULKEXISTS", "packed", form, &items, &["COUNT"]);
                let ones = expected.iter().filter(|is_found| **is_found).count();
                assert_eq!(show(&counted), format!("*[:{count} :{ones}]"));
            }
            assert_ne!(client.ask("BF.INFO plain FILTERS"), "*[:1]", "it has grown");
            assert_equal(&mut client, "plain", "packed");
            assert_equal(&mut client, "plain", "counted");
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn a_million_items_fit_in_one_call() {
    const ITEMS: u64 = 1_000_000;
    Setup::new().debug().on_shared_servers(|mut client, _| {
        // Every fourth item is a repetition of an earlier one.
        let number = |at: u64| if at % 4 == 3 { at / 2 } else { at };
        let items: Vec<_> = (0..ITEMS).map(|at| number(at).to_be_bytes()).collect();
        for key in ["plain", "packed"] {
            client.ok(&format!("BF.RESERVE {key} 0.01 100000 SEED 1"));
        }
        let expected = plain(&mut client, "BF.MADD", "plain", &items);
        assert_eq!(add(&mut client, "packed", Form::Fixed, &items), expected);
        assert_equal(&mut client, "plain", "packed");
        let reply =
            send(&mut client, "BF.BULKEXISTS", "packed", Form::Prefixed, &items, &["COUNT"]);
        assert_eq!(show(&reply), format!("*[:{ITEMS} :{ITEMS}]"));
    });
}

#[test]
fn fixed_and_prefixed_items_are_any_bytes() {
    let items: [&[u8]; 6] = [b"\n\n\n", b"\0\0\0", b"\xff\xfe\xfd", b"a\r\n", b"\r\n\0", b"   "];
    Setup::new().debug().on_shared_servers(|mut client, _| {
        let mut mixed = items.to_vec();
        let long = vec![b'\n'; 70_000];
        mixed.extend([&b""[..], b"a", b"\x03\0\0\0abc", &long]);
        for (form, items) in [(Form::Fixed, &items[..]), (Form::Prefixed, &mixed)] {
            client.ok("BF.RESERVE plain 0.000001 100 SEED 3");
            client.ok("BF.RESERVE packed 0.000001 100 SEED 3");
            assert_eq!(add(&mut client, "packed", form, items), vec![true; items.len()]);
            assert_eq!(plain(&mut client, "BF.MADD", "plain", items), vec![true; items.len()]);
            assert_equal(&mut client, "plain", "packed");
            assert_eq!(exists(&mut client, "plain", form, items), vec![true; items.len()]);
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn the_bitmap_is_in_the_order_of_getbit() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for count in [1, 7, 8, 9, 63, 64, 65, 200] {
            client.ok("BF.RESERVE k 0.000001 1000");
            let items: Vec<_> = (0..count).map(|at| format!("{at:04}")).collect();
            let new = |at: usize| at % 3 == 1;
            let old: Vec<_> = (0..count).filter(|&at| !new(at)).map(|at| &items[at]).collect();
            add(&mut client, "k", Form::Lines, &old);
            let reply = send(&mut client, "BF.BULKADD", "k", Form::Fixed, &items, &[]);
            let (bits, _) = answers(&reply);
            let Value::Array(parts) = reply else { panic!("an array") };
            assert_eq!(client.run(&[b"SET", &b"bitmap"[..], bulk(&parts[1])]), Value::Okay);
            for (at, answer) in bits.iter().enumerate() {
                let bit = int(&client.call(&format!("GETBIT bitmap {at}"))) == 1;
                assert_eq!((bit, *answer), (new(at), new(at)), "item {at} of {count}");
            }
            let ones = (0..count).filter(|&at| new(at)).count();
            assert_eq!(client.ask("BITCOUNT bitmap"), format!(":{ones}"));
            client.ok("FLUSHALL");
        }
    });
}
