//! BF.EXISTS, BF.MEXISTS: replies, and no errors about keys.

use bloomline_harness::{Setup, rows, show};

#[test]
fn items_are_present_or_absent() {
    Setup::new().check_rows(rows![
        "BF.MADD k a b" => "*[:1 :1]" | "*[#t #t]";
        "BF.EXISTS k a" => ":1" | "#t";
        "BF.EXISTS k z" => ":0" | "#f";
        "BF.MEXISTS k a z b z" => "*[:1 :0 :1 :0]" | "*[#t #f #t #f]";
        "BF.MEXISTS k z" => "*[:0]" | "*[#f]";
    ]);
}

#[test]
fn missing_keys_and_other_types_hold_no_items() {
    Setup::new().check_rows(rows![
        "SET text a" => "+OK";
        "BF.EXISTS absent a" => ":0" | "#f";
        "BF.MEXISTS absent a b" => "*[:0 :0]" | "*[#f #f]";
        "BF.EXISTS text a" => ":0" | "#f";
        "BF.MEXISTS text a b c" => "*[:0 :0 :0]" | "*[#f #f #f]";
        "EXISTS absent" => ":0";
    ]);
}

#[test]
fn batches_larger_than_a_group_answer_in_order() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE k 0.000001 1000");
        // Sizes around the end of a group of 64.
        for count in [1, 2, 63, 64, 65, 127, 128, 129, 1000] {
            client.ok("FLUSHALL");
            client.ok("BF.RESERVE k 0.000001 1000");
            let items: Vec<Vec<u8>> = (0..count).map(|i: u32| i.to_string().into_bytes()).collect();
            let odd: Vec<&[u8]> = items.iter().skip(1).step_by(2).map(Vec::as_slice).collect();
            if !odd.is_empty() {
                client.items("BF.MADD", "k", &odd);
            }
            let expected = (0..count)
                .map(|i| if i % 2 == 1 { ":1" } else { ":0" })
                .collect::<Vec<_>>()
                .join(" ");
            let got = show(&client.items("BF.MEXISTS", "k", &items));
            assert_eq!(got, format!("*[{expected}]"), "{count} items");
        }
    });
}
