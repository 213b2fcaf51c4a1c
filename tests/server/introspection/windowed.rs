//! BF.INFO, BF.DEBUG and BF.CARD of windowed filters, in both protocols.

use bloomline_harness::{Setup, numbered, rows};

use crate::windowed::{RATE, age, info};

#[test]
fn fields_are_returned_by_name() {
    Setup::new().check_rows(rows![
        "BF.RESERVE w 0.01 100 WINDOW 60 GENERATIONS 8" => "+OK";
        "BF.INFO w WINDOW" => "*[:60]" | "%{+Window :60}";
        "BF.INFO w window" => "*[:60]" | "%{+Window :60}";
        "BF.INFO w GENERATIONS" => "*[:8]" | "%{+Generations :8}";
        "BF.INFO w OLDEST" => "*[:<n>]" | "%{+Oldest generation :<n>}";
        "BF.INFO w NEWEST" => "*[:<n>]" | "%{+Newest generation :<n>}";
        "BF.INFO w ERROR" => "*[$4 0.01]" | "%{+Error rate $4 0.01}";
        "BF.INFO w LAYOUT" => "*[$9 bloomline]" | "%{+Layout $9 bloomline}";
        "BF.INFO w FILL" => "*[*[$1 0]]" | "%{+Fill *[$1 0]}";
        "BF.INFO w FPRATE" => "*[*[$1 0]]" | "%{+False positive rate *[$1 0]}";
        "BF.RESERVE l 0.01 100 LAST GENERATIONS 64" => "+OK";
        "BF.INFO l WINDOW" => "*[$4 LAST]" | "%{+Window $4 LAST}";
        "BF.INFO l GENERATIONS" => "*[:64]" | "%{+Generations :64}";
        "BF.RESERVE h 0.01 100 GENERATIONS 2" => "+OK";
        "BF.INFO h WINDOW" => "*[$6 MANUAL]" | "%{+Window $6 MANUAL}";
        "BF.RESERVE plain 0.01 100" => "+OK";
        "BF.INFO plain WINDOW" => "*[_]" | "%{+Window _}";
        "BF.INFO plain GENERATIONS" => "*[_]" | "%{+Generations _}";
        "BF.INFO plain OLDEST" => "*[_]" | "%{+Oldest generation _}";
        "BF.INFO plain NEWEST" => "*[_]" | "%{+Newest generation _}";
        "BF.RESERVE foreign 0.01 100 LAYOUT REDISBLOOM" => "+OK";
        "BF.INFO foreign WINDOW" => "*[_]" | "%{+Window _}";
        "BF.INFO w WINDOWS" => "-Invalid information value";
        "BF.INFO w AGE" => "-Invalid information value";
        "BF.INFO missing WINDOW" => "-ERR not found";
    ]);
}

#[test]
fn all_fields_are_those_of_other_filters() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.0000001 80 GENERATIONS 4" => "+OK";
        "BF.MADD k a b" => "*[:1 :1]" | "*[#t #t]";
        "BF.ROTATE k" => "+OK";
        "BF.MADD k a c" => "*[:0 :1]" | "*[#f #t]";
        "BF.INFO k" => "*[+Capacity :80 +Size :<n> +Number of filters :2 +Number of items inserted :3 +Expansion rate :2]"
            | "%{+Capacity :80 +Size :<n> +Number of filters :2 +Number of items inserted :3 +Expansion rate :2}";
        "BF.CARD k" => ":3";
        "BF.EXISTS k b" => ":1" | "#t";
        "BF.EXISTS k x" => ":0" | "#f";
        "BF.DEBUG k" => "*[$6 size:3 $<n> bytes:<n> bits:<n> hashes:<n> hashwidth:128 capacity:20 size:2 ratio:<any> generation:0 age:<n> $<n> bytes:<n> bits:<n> hashes:<n> hashwidth:128 capacity:20 size:2 ratio:<any> generation:1 age:<n>]";
    ]);
}

#[test]
fn debug_has_a_line_for_each_layer_of_each_generation() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok(&format!("BF.RESERVE k {RATE} 40 WINDOW 8000000 GENERATIONS 4"));
        client.items("BF.MADD", "k", &numbered("item", 60));
        age(&mut client, "k", 2_000_000_000);
        client.items("BF.MADD", "k", &numbered("other", 5));
        let reply = client.ask("BF.DEBUG k");
        let lines: Vec<&str> = reply.split(" $").skip(1).collect();
        let layers = info(&mut client, "k", "FILTERS");
        assert_eq!(layers, format!(":{}", lines.len()));
        let of_first = lines.iter().filter(|line| line.contains("generation:0 age:2000000"));
        assert_eq!(of_first.count(), lines.len() - 1, "{reply}");
        assert!(lines[0].contains("capacity:10 size:10 "), "{reply}");
        assert!(lines[1].contains("capacity:20 size:20 "), "{reply}");
        let last = lines.last().expect("a line");
        assert!(
            last.contains("capacity:10 size:5 ") && last.contains("generation:1 age:"),
            "{reply}"
        );
        assert!(reply.starts_with("*[$7 size:65 "), "{reply}");
        // The lines add up to BF.INFO CAPACITY, whose first part is the specified one.
        let number = |line: &str, name: &str| -> u64 {
            let value = line.split(name).nth(1).expect("the field");
            value.split(' ').next().expect("a value").parse().expect("a number")
        };
        let overflow: u64 =
            lines[1..lines.len() - 1].iter().map(|line| number(line, "capacity:")).sum();
        assert_eq!(info(&mut client, "k", "CAPACITY"), format!(":{}", 40 + overflow));
    });
}
