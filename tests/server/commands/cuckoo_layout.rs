//! CF.* in Bloomline's layout: its options, its rate, and what it does with copies and deletions.

use bloomline_harness::{Setup, for_each_server, rows};

#[test]
fn options_choose_rate_layout_and_seed() {
    Setup::new().check_rows(rows![
        "CF.RESERVE k 100" => "+OK";
        "CF.INFO k LAYOUT" => "*[$9 bloomline]" | "%{+Layout $9 bloomline}";
        "CF.INFO k error" => "*[$4 0.01]" | "%{+Error rate $4 0.01}";
        "CF.INFO k FPRATE" => "*[$1 0]" | "%{+False positive rate $1 0}";
        "CF.INFO k ITEMS" => "*[:0]" | "%{+Number of items inserted :0}";
        "CF.INFO k FILTERS" => "*[:1]" | "%{+Number of filters :1}";
        "CF.INFO k MAXITERATIONS" => "*[:20]" | "%{+Max iterations :20}";
        "CF.INFO k nonsense" => "-ERR wrong number of arguments for <any>";
        "CF.INFO k SIZE extra" => "-ERR wrong number of arguments for <any>";
        "CF.RESERVE a 100 ERROR 0.001 SEED 7" => "+OK";
        "CF.INFO a ERROR" => "*[$5 0.001]" | "%{+Error rate $5 0.001}";
        "CF.RESERVE b 100 SEED 7 EXPANSION 4 ERROR 0.001 BUCKETSIZE 3 MAXITERATIONS 9" => "+OK";
        // What has no effect is shown as it was given.
        "CF.INFO b BUCKETSIZE" => "*[:3]" | "%{+Bucket size :3}";
        "CF.INFO b EXPANSION" => "*[:4]" | "%{+Expansion rate :4}";
        "CF.INSERT c CAPACITY 100 ERROR 0.5 LAYOUT bloomline SEED 0 ITEMS x" => "*[:1]" | "*[#t]";
        "CF.INFO c ERROR" => "*[$4 0.25]" | "%{+Error rate $4 0.25}";
        "CF.RESERVE d 100 LAYOUT REDISBLOOM" => "+OK";
        "CF.INFO d LAYOUT" => "*[$10 redisbloom]" | "%{+Layout $10 redisbloom}";
        "CF.INFO d ERROR" => "*[_]" | "%{+Error rate _}";
        "CF.INFO d FPRATE" => "*[_]" | "%{+False positive rate _}";
        "CF.INFO d SIZE" => "*[:184]" | "%{+Size :184}";
        "CF.INSERTNX e LAYOUT redisbloom CAPACITY 100 ITEMS x" => "*[:1]";
        "CF.INFO e BUCKETS" => "*[:64]" | "%{+Number of buckets :64}";
    ]);
}

#[test]
fn wrong_options_are_refused() {
    Setup::new().check_rows(rows![
        "CF.RESERVE k 100 ERROR 0" => "-Bad error rate";
        "CF.RESERVE k 100 ERROR 1" => "-Bad error rate";
        "CF.RESERVE k 100 ERROR nan" => "-Bad error rate";
        "CF.RESERVE k 100 ERROR x" => "-Bad error rate";
        "CF.INSERT k ERROR -1 ITEMS a" => "-Bad error rate";
        "CF.RESERVE k 100 ERROR 1e-12" => "-ERR error rate <any> of a cuckoo filter is out of range<any>";
        "CF.RESERVE k 100 SEED -1" => "-ERR seed must be in the range [0, 18446744073709551615]";
        "CF.INSERT k SEED 18446744073709551616 ITEMS a" => "-ERR seed must be in the range [0, 18446744073709551615]";
        "CF.RESERVE k 100 LAYOUT other" => "-Unknown argument received: 'other'";
        "CF.RESERVE k 100 LAYOUT REDISBLOOM ERROR 0.1" => "-ERR ERROR needs LAYOUT BLOOMLINE";
        "CF.INSERT k SEED 7 LAYOUT REDISBLOOM ITEMS a" => "-ERR SEED needs LAYOUT BLOOMLINE";
        "CF.RESERVE k 3" => "-Capacity must be in the range <any>";
        "CF.RESERVE k 1073741825" => "-Capacity must be in the range <any>";
        "EXISTS k" => ":0";
    ]);
}

#[test]
fn settings_choose_layout_and_rate() {
    for_each_server(|kind| {
        for (args, layout, rate) in [
            ("cf-error-rate 0.001", "bloomline", "$5 0.001"),
            ("cf-layout bloomline cf-error-rate 0.9", "bloomline", "$4 0.25"),
            ("cf-layout redisbloom", "redisbloom", "_"),
            ("bf-layout redisbloom", "bloomline", "$4 0.01"),
        ] {
            let server = Setup::new().module_args(args).start(kind);
            let mut client = server.resp2();
            client.ok("CF.RESERVE reserved 100");
            client.call("CF.ADD added a");
            for key in ["reserved", "added"] {
                let shown = client.ask(&format!("CF.INFO {key} LAYOUT"));
                assert!(shown.contains(layout), "{args}: {shown}");
                assert_eq!(client.ask(&format!("CF.INFO {key} ERROR")), format!("*[{rate}]"));
            }
            client.ok("CF.RESERVE own 100 LAYOUT BLOOMLINE");
        }
    });
}
