//! Numbers at every limit: the last one that is accepted, and the first one that is refused.

use bloomline_harness::Setup;

/// Calls on both sides of each limit: the start of the reply, then the call.
const CALLS: [(&str, &str); 45] = [
    ("+OK", "BF.RESERVE k 0.01 1"),
    ("-ERR", "BF.RESERVE k 0.01 0"),
    ("-ERR capacity", "BF.RESERVE k 0.01 -1"),
    ("-ERR Insufficient memory", "BF.RESERVE k 0.01 1099511627776"),
    ("-ERR capacity", "BF.RESERVE k 0.01 1099511627777"),
    ("-ERR capacity", "BF.RESERVE k 0.01 9223372036854775807"),
    ("-ERR bad capacity", "BF.RESERVE k 0.01 9223372036854775808"),
    ("-ERR capacity", "BF.RESERVE k 0.01 -9223372036854775808"),
    ("-ERR bad capacity", "BF.RESERVE k 0.01 -9223372036854775809"),
    ("+OK", "BF.RESERVE k 0.9999999999999999 1"),
    ("-ERR", "BF.RESERVE k 1 1"),
    ("-ERR", "BF.RESERVE k 0 1"),
    ("-ERR", "BF.RESERVE k -0.0 1"),
    // The first layer gets half of the rate.
    ("+OK", "BF.RESERVE k 0.000000000000002 1"),
    ("-ERR error rate is too small", "BF.RESERVE k 0.0000000000000019 1"),
    ("+OK", "BF.RESERVE k 0.000000000000001 1 NONSCALING"),
    ("-ERR error rate is too small", "BF.RESERVE k 0.00000000000000099 1 NONSCALING"),
    ("-ERR error rate is too small", "BF.RESERVE k 2.2250738585072014e-308 1"),
    ("-ERR", "BF.RESERVE k 4.9e-324 1"),
    ("+OK", "BF.RESERVE k 0.01 1 EXPANSION 0"),
    ("+OK", "BF.RESERVE k 0.01 1 EXPANSION 32768"),
    ("-ERR expansion", "BF.RESERVE k 0.01 1 EXPANSION 32769"),
    ("-ERR expansion", "BF.RESERVE k 0.01 1 EXPANSION -1"),
    ("-ERR expansion", "BF.RESERVE k 0.01 1 EXPANSION 4294967298"),
    ("-ERR expansion", "BF.RESERVE k 0.01 1 EXPANSION 9223372036854775807"),
    ("-ERR bad expansion", "BF.RESERVE k 0.01 1 EXPANSION 9223372036854775808"),
    ("+OK", "BF.RESERVE k 0.01 1 SEED 0"),
    ("+OK", "BF.RESERVE k 0.01 1 SEED 18446744073709551615"),
    ("-ERR seed", "BF.RESERVE k 0.01 1 SEED 18446744073709551616"),
    ("-ERR seed", "BF.RESERVE k 0.01 1 SEED -1"),
    ("*[:1]", "BF.INSERT k CAPACITY 1 ITEMS a"),
    ("-ERR seed", "BF.INSERT k SEED 18446744073709551616 ITEMS a"),
    ("-Bad capacity", "BF.INSERT k CAPACITY 0 ITEMS a"),
    ("-Bad capacity", "BF.INSERT k CAPACITY 1099511627777 ITEMS a"),
    ("-Bad expansion", "BF.INSERT k EXPANSION 32769 ITEMS a"),
    ("-Bad error rate", "BF.INSERT k ERROR 1 ITEMS a"),
    ("*[:0 $0 ]", "BF.SCANDUMP full -1"),
    ("*[:0 $0 ]", "BF.SCANDUMP full 9223372036854775807"),
    ("*[:0 $0 ]", "BF.SCANDUMP full -9223372036854775808"),
    ("-Second argument must be numeric", "BF.SCANDUMP full 9223372036854775808"),
    ("-ERR", "BF.LOADCHUNK full 9223372036854775807 x"),
    ("-ERR", "BF.LOADCHUNK full -9223372036854775808 x"),
    ("-ERR Second argument must be numeric", "BF.LOADCHUNK full 9223372036854775808 x"),
    ("-ERR", "BF.LOADCHUNK full 0 x"),
    ("-ERR", "BF.LOADCHUNK full 1 x"),
];

#[test]
fn accepts_the_last_number_of_each_range_and_no_more() {
    Setup::new().module_args("bf-max-filter-bytes 64mb").on_each_server(|mut client, _| {
        client.ok("BF.RESERVE full 0.01 3 NONSCALING");
        client.call("BF.MADD full a b c");
        let before = client.ask("BF.SCANDUMP full 1");
        let mut wrong = String::new();
        for (start, call) in CALLS {
            let reply = client.ask(call);
            if !reply.starts_with(start) {
                wrong += &format!("\n{call}\n  expected {start}\n  got      {reply}");
            }
            client.assert_answers_ping(call);
            // A created filter must work.
            if client.call("DEL k") == redis::Value::Int(1) {
                client.call(call);
                let added = client.ask("BF.MADD k x y z");
                assert!(added.starts_with("*[:"), "{call}: {added}");
                client.call("DEL k");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        assert_eq!(client.ask("BF.SCANDUMP full 1"), before);
    });
}
