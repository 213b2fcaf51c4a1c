//! The memory that new layers may take: what `maxmemory` leaves, with each policy of eviction, and
//! without `maxmemory` what the machine has.

use bloomline_harness::{Client, Setup, for_each_server, matches, numbered};

use crate::inspect::info_field;

/// The three numbers in the reply to a refused BF.RESERVE: bytes of the layers, `maxmemory`, bytes
/// left.
fn numbers_of_refusal(client: &mut Client, line: &str) -> [u64; 3] {
    const MAXMEMORY: &str = "-ERR Insufficient memory to create filter: its new layers need <n> \
                             bytes, maxmemory <n> leaves <n>";
    let reply = client.ask(line);
    assert!(matches(MAXMEMORY, &reply), "{reply}");
    let numbers = reply.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    numbers.try_into().expect("three numbers")
}

#[test]
fn volatile_policies_count_only_keys_that_expire() {
    for_each_server(|kind| {
        for policy in ["volatile-lru", "volatile-ttl", "volatile-random"] {
            let server = Setup::new().line(format!("maxmemory-policy {policy}")).start(kind);
            let mut client = server.resp2();
            let reserve = |key| format!("BF.RESERVE {key} 0.01 10000000 LAYOUT redisbloom");
            client.ok(&reserve("k"));
            client.ok(&reserve("other"));
            let layer = info_field(&mut client, "k", "SIZE");
            let max = client.info_number("used_memory") + layer / 2;
            client.ok(&format!("CONFIG SET maxmemory {max}"));
            // No key expires, so that none can be evicted.
            let [new, limit, left] = numbers_of_refusal(&mut client, &reserve("new"));
            assert!(new <= layer && new + 256 > layer, "{new} of {layer} bytes");
            assert_eq!(limit, max);
            assert!(left < layer / 4 * 3 && left > layer / 4, "{left} left beside {layer}");
            // Two of a hundred keys in all databases expire, which counts as 2 % of the memory.
            for key in ["k", "other"] {
                assert_eq!(client.ask(&format!("EXPIRE {key} 1000")), ":1");
            }
            client.ok("SELECT 1");
            for key in numbered("key", 98) {
                client.run(&[b"SET".as_slice(), &key, b"value"]);
            }
            numbers_of_refusal(&mut client, &reserve("new"));
            client.ok("FLUSHDB");
            client.ok("SELECT 0");
            client.ok(&reserve("new"));
        }
    });
}

#[test]
fn evictable_memory_counts_up_to_half_of_maxmemory() {
    for_each_server(|kind| {
        for (policy, options) in [("allkeys-lru", ""), ("volatile-lru", "EX 1000")] {
            let server = Setup::new().line(format!("maxmemory-policy {policy}")).start(kind);
            let mut client = server.resp2();
            let max = client.info_number("used_memory") + (18 << 20);
            client.ok(&format!("CONFIG SET maxmemory {max}"));
            client.ok(&format!("SET key value {options}"));
            // Free memory counts whole: one filter of 14 MB fits, a second one does not.
            client.ok("BF.RESERVE fits 0.01 10000000");
            numbers_of_refusal(&mut client, "BF.RESERVE again 0.01 10000000");
            assert_eq!(client.ask("BF.ADD fits a"), ":1");
            assert_eq!(client.info("evicted_keys"), "0");
        }
    });
}

/// The memory of the machine in bytes, as the module reports it.
fn machine(client: &mut Client) -> u64 {
    // The reply states the bytes that the filter needs, then those of the machine.
    let reply = client.ask("BF.RESERVE machine 0.01 1099511627776");
    let digits = reply.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let numbers: Vec<u64> = digits.map(|digits| digits.parse().expect("a number")).collect();
    assert!(numbers[0] > 1_000_000_000_000, "{reply}");
    numbers[1]
}

#[test]
fn without_maxmemory_the_memory_of_the_machine_is_the_limit() {
    Setup::new().on_each_server(|mut client, server| {
        let machine = machine(&mut client);
        // Two filters fit, three do not, although the system has addresses for all of them.
        client.ok("BF.RESERVE probe 0.01 1000000000 NONSCALING");
        let bytes = info_field(&mut client, "probe", "SIZE");
        assert_eq!(client.ask("DEL probe"), ":1");
        client.wait_for_frees();
        let capacity = (1_000_000_000.0 * 0.45 * machine as f64 / bytes as f64) as u64;
        let reserve = |key| format!("BF.RESERVE {key} 0.01 {capacity} NONSCALING");
        client.ok(&reserve("k"));
        assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
        client.ok(&reserve("second"));
        let third = client.ask(&reserve("third"));
        let refused = "-ERR Insufficient memory to create filter: its new layers need <n> bytes, \
                       the machine's <n> bytes leave <n>";
        assert!(matches(refused, &third), "{third}");
        assert_eq!(client.ask("COPY k third"), "-ERR module key failed to copy");
        client.ok("SET later 1");
        assert_eq!(client.ask("DEL second"), ":1");
        client.wait_for_frees();
        assert_eq!(client.ask("COPY k third"), ":1");
        assert_eq!(client.ask("BF.MEXISTS third a b c"), "*[:1 :1 :0]");
        assert!(server.resident() < 256 << 20, "{} bytes are resident", server.resident());
    });
}
