//! BF.INFO, BF.DEBUG and BF.CARD of windowed filters.

use bloomline_harness::{Setup, numbered, rows};

use crate::inspect::stat;
use crate::windowed::{RATE, age};

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
        "BF.DEBUG k" => "*[$6 size:3 $<n> bytes:<n> bits:<n> hashes:<n> hashwidth:64 capacity:20 size:2 ratio:<any> generation:0 age:<n> $<n> bytes:<n> bits:<n> hashes:<n> hashwidth:64 capacity:20 size:2 ratio:<any> generation:1 age:<n>]";
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
        let layers = stat(&mut client, "k", "layers");
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
        assert_eq!(stat(&mut client, "k", "capacity"), format!(":{}", 40 + overflow));
    });
}
