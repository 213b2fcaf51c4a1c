//! BF.INFO with a field: the fields, and whether they agree with the bits.

use bloomline_harness::{Client, Setup, for_each_server, numbered, rows, show};
use redis::Value;

#[test]
fn further_fields_are_returned_only_by_name() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.01 100" => "+OK";
        "BF.INFO k ERROR" => "*[$4 0.01]" | "%{+Error rate $4 0.01}";
        "BF.INFO k error" => "*[$4 0.01]" | "%{+Error rate $4 0.01}";
        "BF.INFO k LAYOUT" => "*[$9 bloomline]" | "%{+Layout $9 bloomline}";
        "BF.RESERVE tiny 0.000001 100 NONSCALING" => "+OK";
        "BF.INFO tiny ERROR" => "*[<any>]" | "%{+Error rate <any>}";
        "BF.INFO absent ERROR" => "-ERR not found";
        "BF.INFO absent FILL" => "-ERR not found";
        "SET text value" => "+OK";
        "BF.INFO text FPRATE" => "-WRONGTYPE Operation against a key holding the wrong kind of value";
        "BF.INFO k FILLS" => "-Invalid information value";
        "BF.INFO k FP" => "-Invalid information value";
        "BF.INFO k" => "*[+Capacity :100 +Size :<n> +Number of filters :1 +Number of items inserted :0 +Expansion rate :2]" | "%{+Capacity :100 +Size :<n> +Number of filters :1 +Number of items inserted :0 +Expansion rate :2}";
    ]);
}

/// All numbers in a reply, at any depth, in order.
fn numbers(reply: &Value) -> Vec<f64> {
    match reply {
        Value::Array(elements) => elements.iter().flat_map(numbers).collect(),
        Value::Map(pairs) => pairs.iter().flat_map(|(_, value)| numbers(value)).collect(),
        Value::Double(number) => vec![*number],
        Value::BulkString(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            vec![text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))]
        }
        other => panic!("expected numbers, got {}", show(other)),
    }
}

/// The share of set bits in each layer, counted in the chunks of BF.SCANDUMP.
fn counted_fill(client: &mut Client, key: &str) -> Vec<f64> {
    let mut shares = Vec::new();
    let (mut iterator, _) = client.scandump(key, 0);
    loop {
        let (next, bits) = client.scandump(key, iterator);
        if next == 0 {
            return shares;
        }
        iterator = next;
        let ones: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
        shares.push(f64::from(ones) / (bits.len() * 8) as f64);
    }
}

#[test]
fn fill_is_the_share_of_set_bits_in_each_layer() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        for mut client in [server.resp2(), server.resp3()] {
            client.ok("FLUSHALL");
            client.ok("BF.RESERVE k 0.01 1000");
            assert_eq!(numbers(&client.call("BF.INFO k FILL")), [0.0]);
            for batch in numbered("item", 5000).chunks(500) {
                client.items("BF.MADD", "k", batch);
                let reported = numbers(&client.call("BF.INFO k FILL"));
                let counted = counted_fill(&mut client, "k");
                assert_eq!(reported.len(), counted.len());
                for (reported, counted) in reported.iter().zip(&counted) {
                    assert!(
                        (reported - counted).abs() < 0.001,
                        "{reported} reported, {counted} counted"
                    );
                }
            }
            assert_eq!(counted_fill(&mut client, "k").len(), 3);
        }
    });
}

#[test]
fn the_computed_rate_agrees_with_the_measured_one() {
    const ABSENT: usize = 100_000;
    Setup::new().on_each_server(|mut client, _| {
        for (key, target) in [("one:layer", 0.01), ("layers", 0.05)] {
            let capacity = if key == "layers" { 1000 } else { 20_000 };
            client.ok(&format!("BF.RESERVE {key} {target} {capacity}"));
            assert_eq!(numbers(&client.call(&format!("BF.INFO {key} FPRATE"))), [0.0]);
            for batch in numbered("item", 20_000).chunks(1000) {
                client.items("BF.MADD", key, batch);
            }
            let layers = numbers(&client.call(&format!("BF.INFO {key} FPRATE")));
            assert_eq!(layers.len(), if key == "layers" { 5 } else { 1 });
            // An absent item is a false positive unless every layer rejects it.
            let computed = 1.0 - layers.iter().map(|rate| 1.0 - rate).product::<f64>();
            assert!(computed > 0.0 && computed <= target, "{key}: {computed}");
            let mut wrong = 0;
            for batch in numbered("absent", ABSENT).chunks(1000) {
                wrong += show(&client.items("BF.MEXISTS", key, batch)).matches(":1").count();
            }
            let measured = wrong as f64 / ABSENT as f64;
            // Six standard deviations of the count, and 5 % for the approximation of the formula.
            let tolerance = 6.0 * (computed / ABSENT as f64).sqrt() + computed / 20.0;
            assert!(
                (measured - computed).abs() < tolerance,
                "{key}: {computed} computed, {measured} measured"
            );
        }
    });
}

#[test]
fn a_filter_with_all_bits_set_reports_1() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 100");
        let bits = vec![0xff; client.scandump("k", 1).1.len()];
        let next = (bits.len() + 1).to_string();
        let loaded = client.run(&[b"BF.LOADCHUNK", b"k".as_slice(), next.as_bytes(), &bits]);
        assert_eq!(show(&loaded), "+OK");
        assert_eq!(numbers(&client.call("BF.INFO k FILL")), [1.0]);
        assert_eq!(numbers(&client.call("BF.INFO k FPRATE")), [1.0]);
        assert_eq!(client.ask("BF.EXISTS k anything"), ":1");
    });
}
