//! The option SEED: equal seeds give equal filters, on this server and on every other one.

use bloomline_harness::{Client, Setup, append_only_file, arguments, for_each_server, rows};

use crate::inspect::digest;

const RANGE: &str = "-ERR seed must be in the range [0, 18446744073709551615]";
const LAYOUT: &str = "-ERR SEED needs LAYOUT BLOOMLINE";

/// Where the seed stands in the header, which `docs/format.md` describes.
const SEED: std::ops::Range<usize> = 40..48;

/// The seed in the header of a filter.
fn seed(client: &mut Client, key: &str) -> u64 {
    let header = client.scandump(key, 0).1;
    u64::from_le_bytes(header[SEED].try_into().expect("eight bytes"))
}

#[test]
fn every_64_bit_number_is_a_seed() {
    Setup::new().on_shared_servers(|mut client, _| {
        let numbers = [0, 1, 1 << 63, u64::MAX - 1, u64::MAX];
        let windows = ["", "WINDOW 8000000", "LAST", "GENERATIONS 3", "TTL 60 LAST NOREFRESH"];
        for (n, window) in numbers.into_iter().zip(windows) {
            client.ok(&format!("BF.RESERVE k 0.01 100 SEED {n} {window}"));
            assert_eq!(seed(&mut client, "k"), n);
            let line = format!("BF.INSERT l SEED 5 NOCREATE {window} SEED {n} ITEMS SEED");
            assert_eq!(client.ask(&line), "-ERR not found");
            assert_eq!(client.ask(&line.replace("NOCREATE ", "")), "*[:1]");
            assert_eq!(seed(&mut client, "l"), n, "the last of repeated options counts");
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn the_value_of_seed_is_required() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.01 100 SEEDS 7" => "-Unknown argument received: 'SEEDS'";
        "BF.INSERT k SEED ITEMS a" => "-ERR seed must be in the range [0, 18446744073709551615]";
        "EXISTS k" => ":0";
        "BF.RESERVE k 0.01 100" => "+OK";
        "BF.INFO k SEED" => "-Invalid information value";
    ]);
}

#[test]
fn only_the_bloomline_layout_takes_a_seed() {
    for_each_server(|kind| {
        for settings in ["bf-layout bloomline", "bf-layout redisbloom"] {
            let server = Setup::new().module_args(settings).start(kind);
            let mut client = server.resp2();
            let is_default = settings == "bf-layout bloomline";
            let named = ["LAYOUT REDISBLOOM SEED 7", "SEED 7 EXPANSION 3 LAYOUT redisbloom"];
            for options in named.into_iter().chain((!is_default).then_some("SEED 7")) {
                for line in [
                    format!("BF.RESERVE k 0.01 100 {options}"),
                    format!("BF.INSERT k {options} ITEMS a"),
                ] {
                    assert_eq!(client.ask(&line), LAYOUT, "{settings}: {line}");
                }
            }
            assert_eq!(client.ask("EXISTS k"), ":0");
            client.ok("BF.RESERVE k 0.01 100 SEED 7 LAYOUT bloomline NONSCALING EXPANSION 0");
            assert_eq!(seed(&mut client, "k"), 7);
        }
    });
}

#[test]
fn a_seed_counts_only_when_the_filter_is_created() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 100 SEED 7");
        assert_eq!(client.ask("BF.RESERVE k 0.01 100 SEED 8"), "-ERR item exists");
        assert_eq!(client.ask("BF.INSERT k SEED 8 ITEMS a"), "*[:1]");
        assert_eq!(client.ask("BF.INSERT k SEED x ITEMS b"), RANGE);
        assert_eq!(client.ask("BF.INSERT k LAYOUT redisbloom SEED 7 ITEMS b"), LAYOUT);
        assert_eq!(seed(&mut client, "k"), 7);
        assert_eq!(client.ask("BF.CARD k"), ":1");
    });
}

#[test]
fn the_stream_of_redisbloom_has_no_seeds() {
    for_each_server(|kind| {
        let file = append_only_file(&[
            arguments("SELECT 0"),
            // RedisBloom ignores what it does not know.
            arguments("BF.RESERVE seeded 0.01 100 SEED x"),
            arguments("BF.RESERVE plain 0.01 100"),
        ]);
        let server = Setup::new().debug().append_file(file).start(kind);
        let mut client = server.resp2();
        assert_eq!(client.ask("BF.STATS seeded layout"), "*[$6 layout $10 redisbloom]");
        assert_eq!(digest(&mut client, "seeded"), digest(&mut client, "plain"));
    });
}
