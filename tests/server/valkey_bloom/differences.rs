//! What a program sees that comes from valkey-bloom: the table of
//! docs/how-to/migrating-from-valkey-bloom.md, and smaller differences.

use bloomline_harness::{Setup, matches, show};
use bloomline_reference::valkey::{FIXED_SEED, Model};

#[test]
fn a_program_sees_what_the_page_says() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("SET string value");
        assert_eq!(client.ask("RPUSH list item"), ":1");
        for (call, reply) in [
            // The eight fields of its layout, six without growth, and RedisBloom's five.
            ("BF.RESERVE own 0.5 100 TIGHTENING 0.5", "+OK"),
            ("BF.INFO own", "*[<any>Tightening ratio $3 0.5 <any>Max scaled capacity :<n>]"),
            ("BF.INFO own ERROR", "*[$3 0.5]"),
            ("BF.INFO own MAXSCALEDCAPACITY", "*[:<n>]"),
            ("BF.RESERVE fixed 0.01 100 NONSCALING LAYOUT valkey-bloom", "+OK"),
            ("BF.INFO fixed ERROR", "*[$4 0.01]"),
            ("BF.INFO fixed TIGHTENING", "-Invalid information value"),
            ("BF.INFO fixed MAXSCALEDCAPACITY", "-Invalid information value"),
            ("BF.RESERVE small 0.00001 100 LAYOUT valkey-bloom", "+OK"),
            ("BF.INFO small ERROR", "*[$4 1e-5]"),
            ("BF.RESERVE decimal 5.24e-4 100 LAYOUT valkey-bloom", "+OK"),
            ("BF.INFO decimal ERROR", "*[$8 0.000524]"),
            ("BF.RESERVE other 0.5 100", "+OK"),
            ("BF.STATS other error_rate", "*[$10 error_rate $4 0.25]"),
            ("BF.INFO other ERROR", "-Invalid information value"),
            ("BF.EXISTS string item", ":0"),
            ("BF.MEXISTS list a b", "*[:0 :0]"),
            // Without ITEMS.
            ("BF.INSERT bare", "-ERR wrong number of arguments<any>"),
            ("BF.INSERT bare CAPACITY 10", "-ERR wrong number of arguments<any>"),
            ("BF.INSERT bare LAYOUT valkey-bloom", "*[]"),
            ("BF.INSERT bare NONSCALING", "-ERR wrong number of arguments<any>"),
            ("BF.INSERT bare x", "-ERR wrong number of arguments<any>"),
            // Growth.
            ("BF.RESERVE zero 0.01 10 EXPANSION 0 LAYOUT valkey-bloom", "+OK"),
            ("BF.INFO zero EXPANSION", "*[_]"),
            ("BF.INSERT last NONSCALING EXPANSION 4 TIGHTENING 0.5 ITEMS a", "*[:1]"),
            ("BF.INFO last EXPANSION", "*[:4]"),
            ("BF.INSERT first NONSCALING EXPANSION 4 ITEMS a", "*[:1]"),
            ("BF.INFO first EXPANSION", "*[_]"),
            // Errors.
            ("BF.RESERVE k 1 100 LAYOUT valkey-bloom", "-ERR error rate must be<any>"),
            ("BF.LOAD own x", "-BUSYKEY Target key name already exists."),
            ("BF.LOAD k x", "-ERR bloom object decoding failed. Unsupported version"),
            ("BF.COMPACT own", "-ERR cannot compact: the filter has valkey-bloom's layout: <any>"),
            ("BF.MERGE own own", "-ERR cannot merge: the filter has valkey-bloom's layout: <any>"),
            (
                "BF.MERGE own fixed",
                "-ERR cannot merge: the filter has valkey-bloom's layout: <any>",
            ),
            ("BF.MERGE new own", "-ERR cannot merge: the filter has valkey-bloom's layout: <any>"),
            ("EXISTS new", ":0"),
        ] {
            let found = client.ask(call);
            assert!(matches(reply, &found), "{call}: {found}");
        }
        for (rate, tightening) in
            [(0.0, 0.5), (1.0, 0.5), (f64::NAN, 0.5), (0.01, 0.0), (0.01, 1.0)]
        {
            let mut model = Model::new(10, 0.01, 2, 0.5, FIXED_SEED);
            (model.rate, model.tightening) = (rate, tightening);
            let reply = show(&client.run(&[b"BF.LOAD".as_slice(), b"k", &model.load_payload()]));
            assert_eq!(reply, "-ERR (0 < error rate range < 1)", "{rate}, {tightening}");
        }
        let fields = |reply: String| reply.matches("Number of").count();
        assert_eq!(fields(client.ask("BF.INFO fixed")), 2);
        assert!(!client.ask("BF.INFO fixed").contains("Tightening"));
        assert!(!client.ask("BF.INFO other").contains("Error rate"));
    });
}
