//! The options that valkey-bloom has and RedisBloom does not.

use bloomline_harness::Setup;

const SEED: &str = "abcdefghijklmnopqrstuvwxyz012345";

#[test]
fn options_of_valkey_bloom_choose_its_layout() {
    Setup::new().on_each_server(|mut client, _| {
        for (call, reply) in [
            ("BF.INSERT a TIGHTENING 0.3 ITEMS x", "*[:1]"),
            (&*format!("BF.INSERT b SEED {SEED} ITEMS x"), "*[:1]"),
            ("BF.INSERT c VALIDATESCALETO 1000 ITEMS x", "*[:1]"),
            ("BF.INSERT d LAYOUT valkey-bloom", "*[]"),
            ("BF.INSERT d LAYOUT VALKEY-BLOOM", "*[]"),
            ("BF.RESERVE e 0.5 10 EXPANSION 4294967295 LAYOUT valkey-bloom", "+OK"),
            ("BF.RESERVE f 0.01 10 TIGHTENING 0.9", "+OK"),
        ] {
            assert_eq!(client.ask(call), reply, "{call}");
        }
        for key in ["a", "b", "c", "d", "e", "f"] {
            assert_eq!(client.ask(&format!("TYPE {key}")), "+bloomfltr", "{key}");
        }
        assert_eq!(client.ask("BF.INFO e ERROR"), "*[$3 0.5]");
        assert_eq!(client.ask("BF.INFO a TIGHTENING"), "*[$3 0.3]");
        assert_eq!(client.ask("BF.STATS b seed"), format!("*[$4 seed $32 {SEED}]"));
        let fields = client.ask("BF.INFO d");
        for name in ["Error rate", "Tightening ratio", "Max scaled capacity"] {
            assert!(fields.contains(name), "{fields}");
        }
    });
}

#[test]
fn refusals_are_valkey_blooms() {
    Setup::new().module_args("bf-max-filter-bytes 1mb").on_each_server(|mut client, _| {
        for (call, reply) in [
            ("BF.INSERT k TIGHTENING 1 ITEMS x", "-ERR (0 < tightening ratio range < 1)"),
            ("BF.INSERT k TIGHTENING 0 ITEMS x", "-ERR (0 < tightening ratio range < 1)"),
            ("BF.INSERT k TIGHTENING nan ITEMS x", "-ERR (0 < tightening ratio range < 1)"),
            ("BF.INSERT k TIGHTENING inf ITEMS x", "-ERR (0 < tightening ratio range < 1)"),
            ("BF.INSERT k TIGHTENING 1e400 ITEMS x", "-ERR (0 < tightening ratio range < 1)"),
            ("BF.INSERT k TIGHTENING 1e-400 ITEMS x", "-ERR (0 < tightening ratio range < 1)"),
            ("BF.INSERT k TIGHTENING x ITEMS x", "-ERR bad tightening ratio"),
            ("BF.INSERT k VALIDATESCALETO 0 ITEMS x", "-ERR (capacity should be larger than 0)"),
            ("BF.INSERT k VALIDATESCALETO -1 ITEMS x", "-ERR bad capacity"),
            ("BF.INSERT k VALIDATESCALETO x ITEMS x", "-ERR bad capacity"),
            (
                "BF.INSERT k CAPACITY 1 EXPANSION 1 TIGHTENING 0.999999 VALIDATESCALETO 5000 ITEMS x",
                "-ERR provided VALIDATESCALETO needs more than 4096 layers: use a larger capacity or a \
                 larger expansion",
            ),
            ("BF.INSERT k TIGHTENING 0.5 SEED 7 ITEMS x", "-ERR invalid seed"),
            (
                "BF.INSERT k NONSCALING VALIDATESCALETO 1000 ITEMS x",
                "-ERR cannot use NONSCALING and VALIDATESCALETO options together",
            ),
            (
                "BF.INSERT k VALIDATESCALETO 100000000 ITEMS x",
                "-ERR provided VALIDATESCALETO causes bloom object to exceed memory limit",
            ),
            (
                "BF.INSERT k ERROR 1e-200 CAPACITY 1 EXPANSION 1 VALIDATESCALETO 1000 ITEMS x",
                "-ERR provided VALIDATESCALETO causes false positive to degrade to 0",
            ),
            (
                "BF.INSERT k TIGHTENING 0.5 LAYOUT bloomline ITEMS x",
                "-ERR TIGHTENING and VALIDATESCALETO need LAYOUT VALKEY-BLOOM",
            ),
            ("BF.INSERT k NOCREATE LAYOUT valkey-bloom", "-ERR not found"),
            (
                "BF.RESERVE k 0.01 2305843009213693951 LAYOUT valkey-bloom",
                "-ERR could not create filter: capacity 2305843009213693951 needs a layer of more \
                 than 2305843009213693951 bytes at this error rate: use a smaller<any>",
            ),
            (
                "BF.INSERT k ERROR 0.1 CAPACITY 9223372036854775807 TIGHTENING 0.5 ITEMS a",
                "-ERR could not create filter: capacity 9223372036854775807 needs a layer<any>",
            ),
            ("BF.RESERVE k 0.01 100 LAYOUT valkey-bloom WINDOW 60", "-ERR a windowed filter<any>"),
            ("CF.RESERVE k 100 LAYOUT valkey-bloom", "-Unknown argument<any>"),
        ] {
            let found = client.ask(call);
            assert!(bloomline_harness::matches(reply, &found), "{call}: {found}");
        }
        assert_eq!(client.ask("DBSIZE"), ":0");
    });
}

#[test]
fn options_are_read_as_by_valkey_bloom() {
    let setup = Setup::new().module_args("bf-layout valkey-bloom bf-expansion-factor 0");
    setup.on_each_server(|mut client, _| {
        client.ok("SET string value");
        for (call, reply) in [
            // One option is enough without ITEMS.
            ("BF.INSERT one NOCREATE", "-ERR not found"),
            ("BF.INSERT one NONSCALING", "*[]"),
            ("BF.INSERT one NOCREATE", "*[]"),
            ("BF.INSERT bare", "-ERR wrong number of arguments<any>"),
            ("BF.INSERT bare EXPANSION", "-ERR wrong number of arguments<any>"),
            ("BF.INSERT bare x", "-Unknown argument received: 'x'"),
            // EXPANSION counts against the setting.
            ("BF.RESERVE fixed 0.01 100", "+OK"),
            ("BF.INFO fixed EXPANSION", "*[_]"),
            ("BF.RESERVE growing 0.01 100 EXPANSION 2", "+OK"),
            ("BF.INFO growing EXPANSION", "*[:2]"),
            ("BF.INSERT also EXPANSION 2 ITEMS a", "*[:1]"),
            ("BF.INFO also EXPANSION", "*[:2]"),
            ("BF.RESERVE k 0.01 100 NONSCALING EXPANSION 2", "-Nonscaling filters cannot expand"),
            // VALIDATESCALETO is checked for filters that exist, too.
            (
                "BF.INSERT growing EXPANSION 2 VALIDATESCALETO 1000000000000000 ITEMS x",
                "-ERR provided VALIDATESCALETO causes bloom object to exceed memory limit",
            ),
            (
                "BF.INSERT growing VALIDATESCALETO 5 ITEMS x",
                "-ERR cannot use NONSCALING and VALIDATESCALETO options together",
            ),
            ("BF.CARD growing", ":0"),
            ("BF.INSERT growing EXPANSION 2 VALIDATESCALETO 1000 ITEMS x", "*[:1]"),
            // Other types.
            ("BF.LOAD string x", "-WRONGTYPE<any>"),
            ("BF.INSERT string NONSCALING", "-WRONGTYPE<any>"),
            // Any rate below 1.
            ("BF.RESERVE tiny 5e-324 100 EXPANSION 2", "+OK"),
            ("BF.ADD tiny a", ":1"),
            ("BF.INFO tiny ERROR", "*[$6 5e-324]"),
        ] {
            let found = client.ask(call);
            assert!(bloomline_harness::matches(reply, &found), "{call}: {found}");
        }
        assert_eq!(client.ask("EXISTS bare k"), ":0");
    });
}
