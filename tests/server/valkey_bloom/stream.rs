//! What replicas get of filters in valkey-bloom's layout: only what valkey-bloom knows.

use bloomline_harness::{Replica, Setup, arguments};

use crate::packed::{Form, send};

#[test]
fn replicas_get_only_what_valkey_bloom_knows() {
    let setup = Setup::new().module_args("bf-layout valkey-bloom bloom-use-random-seed no");
    setup.on_each_server(|mut client, server| {
        let mut replica = Replica::attach(&server);
        for line in [
            "BF.RESERVE reserved 0.00001 50 EXPANSION 4",
            "BF.RESERVE fixed 0.01 2 NONSCALING",
            "BF.ADD auto a",
            "BF.ADD auto a",
            "BF.MADD auto a b c",
            "BF.INSERT made CAPACITY 10 TIGHTENING 0.7 ITEMS a b",
            "BF.INSERT made NOCREATE ITEMS b c",
            "COPY made copy",
        ] {
            client.call(line);
        }
        let fixed = b"590ff522ea7811daa714d8093b3e7bd91d898a733e988887307f97cd28073383";
        let seed: Vec<u8> = fixed
            .chunks(2)
            .map(|digits| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap())
            .collect();
        let seed = seed.escape_ascii();
        let created = |numbers: &str, growth: &str| {
            let [key, capacity, rate, tightening] = numbers.split(' ').collect::<Vec<_>>()[..]
            else {
                panic!("{numbers}")
            };
            format!(
                "BF.INSERT {key} CAPACITY {capacity} ERROR {rate} TIGHTENING {tightening} \
                 SEED {seed} {growth}"
            )
        };
        assert_eq!(
            replica.writes(&server),
            [
                created("reserved 50 0.00001 0.5", "EXPANSION 4"),
                created("fixed 2 0.01 0.5", "NONSCALING"),
                created("auto 100 0.01 0.5", "EXPANSION 2"),
                "BF.ADD auto a".to_owned(),
                "BF.MADD auto b c".to_owned(),
                created("made 10 0.01 0.7", "EXPANSION 2"),
                "BF.MADD made a b".to_owned(),
                "BF.ADD made c".to_owned(),
                "COPY made copy".to_owned(),
            ]
        );
        // What valkey-bloom does not know.
        send(&mut client, "BF.BULKADD", "auto", Form::Lines, &arguments("x y z"), &[]);
        for line in replica.lines(&server) {
            let name = line.split(' ').next().expect("a name");
            let known = ["BF.INSERT", "BF.ADD", "BF.MADD", "MULTI", "EXEC"];
            assert!(known.contains(&name), "{line}");
        }
    });
}
