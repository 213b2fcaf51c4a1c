//! The two classic experiments on false positives: 100,000 random strings of 64 letters, half of
//! them added, to a filter with the defaults and to one for 0.1 %.

use bloomline_harness::{Client, Random, Setup, show};
use redis::Value;

const ADDED: usize = 50_000;
const ABSENT: usize = 50_000;
const BATCH: usize = 1000;

fn strings() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut random = Random(64);
    let mut all: Vec<Vec<u8>> = (0..ADDED + ABSENT).map(|_| random.letters(64)).collect();
    let absent = all.split_off(ADDED);
    (all, absent)
}

/// The number of items for which the command answers 1.
fn ones(client: &mut Client, command: &str, items: &[Vec<u8>]) -> usize {
    let mut count = 0;
    for batch in items.chunks(BATCH) {
        match client.items(command, "codehole", batch) {
            Value::Array(answers) => {
                count += answers.iter().filter(|answer| **answer == Value::Int(1)).count()
            }
            other => panic!("{command} returned {}", show(&other)),
        }
    }
    count
}

#[test]
fn filters_keep_their_target_rate() {
    let (added, absent) = strings();
    Setup::new().on_each_server(|mut client, server| {
        for (reserve, most) in [("PING", 100), ("BF.RESERVE codehole 0.001 50000", 1000)] {
            client.ok("FLUSHALL");
            client.call(reserve);
            ones(&mut client, "BF.MADD", &added);
            assert_eq!(ones(&mut client, "BF.MEXISTS", &added), ADDED, "an added item is missing");
            let wrong = ones(&mut client, "BF.MEXISTS", &absent);
            println!("{}: {wrong} of {ABSENT} absent items answered 1", server.kind.name);
            assert!(wrong <= ABSENT / most, "{reserve}: {wrong} of {ABSENT}");
        }
    });
}
