//! The table of settings, and what a filter shows of each.

use std::collections::BTreeMap;

use bloomline_harness::{Client, Kind, Setup, for_each_server, matches};
use redis::Value;

use crate::inspect::text;

/// A setting. One that the server lists, and that has no row, fails the tests.
#[derive(Clone, Copy)]
pub struct Row {
    pub name: &'static str,
    /// Calls each of which creates the filter `k`, and a question about it.
    created_by: &'static [&'static str],
    shown: &'static str,
    /// Other settings without which no filter shows this one.
    beside: &'static str,
    /// Values that are valid whatever the others are, as CONFIG GET shows them, and the reply to
    /// `shown` with each; no reply if it is empty. The default is the first one.
    pub values: &'static [(&'static str, &'static str)],
    /// The range in refusals, values outside of it, and values that are not of the setting's type.
    pub range: &'static str,
    pub outside: &'static [&'static str],
    pub unreadable: &'static [&'static str],
}

const fn row(
    name: &'static str,
    created_by: &'static [&'static str],
    shown: &'static str,
    values: &'static [(&'static str, &'static str)],
) -> Row {
    Row { name, created_by, shown, beside: "", values, range: "", outside: &[], unreadable: &[] }
}

impl Row {
    const fn refuses(
        self,
        range: &'static str,
        outside: &'static [&'static str],
        unreadable: &'static [&'static str],
    ) -> Self {
        Self { range, outside, unreadable, ..self }
    }

    const fn beside(self, beside: &'static str) -> Self {
        Self { beside, ..self }
    }
}

const BLOOM: &[&str] = &[
    "BF.ADD k a",
    "BF.MADD k a",
    "BF.INSERT k ITEMS a",
    "BF.BULKADD k LINES a",
    "BF.RESERVE k 0.01 100",
];
const BLOOM_ADDED: &[&str] = BLOOM.split_at(4).0;
const CUCKOO: &[&str] = &[
    "CF.ADD k a",
    "CF.ADDNX k a",
    "CF.INSERT k ITEMS a",
    "CF.INSERTNX k ITEMS a",
    "CF.BULKADD k LINES a",
    "CF.RESERVE k 1024",
];
const CUCKOO_ADDED: &[&str] = CUCKOO.split_at(5).0;

/// Two filters, and whether they have the same seed.
const SEEDS: &[&str] = &["BF.INSERT a LAYOUT valkey-bloom ITEMS a"];
const ARE_SEEDS_EQUAL: &str = "EVAL \"redis.call('BF.INSERT', 'b', 'LAYOUT', 'valkey-bloom') \
    local function seed(key) return redis.call('BF.STATS', key, 'seed')[2] end \
    return tostring(seed('a') == seed('b'))\" 0";

const FRACTION: &str = "(0.000000, 1.000000)";
const REDISBLOOM: &str = "cf-layout redisbloom";

/// All settings.
pub const SETTINGS: [Row; 15] = [
    row(
        "bf-error-rate",
        BLOOM_ADDED,
        "BF.STATS k error_rate",
        &[
            ("0.01", "*[$10 error_rate $4 0.01]"),
            ("0.004", "*[$10 error_rate $5 0.004]"),
            ("0.25", "*[$10 error_rate $4 0.25]"),
            ("+78125e-7", "*[$10 error_rate $9 0.0078125]"),
            ("1e-5", "*[$10 error_rate $4 1e-5]"),
        ],
    )
    .refuses(FRACTION, &["0", "1", "2", "-0.1"], &["nan", "abc", "0x1p-7"]),
    row(
        "bf-initial-size",
        BLOOM_ADDED,
        "BF.INFO k CAPACITY",
        &[("100", "*[:100]"), ("7", "*[:7]"), ("1", "*[:1]"), ("1073741824", "*[:1073741824]")],
    )
    .refuses("[1, 1073741824]", &["0", "1073741825", "-1", "1099511627777"], &["1.5", "1mb"]),
    row(
        "bf-expansion-factor",
        BLOOM,
        "BF.INFO k EXPANSION",
        &[("2", "*[:2]"), ("3", "*[:3]"), ("0", "*[_]"), ("1", "*[:1]"), ("32768", "*[:32768]")],
    )
    .refuses("[0, 32768]", &["-1", "32769"], &["x", "2x"]),
    row(
        "bf-max-filter-bytes",
        &["PING"],
        "BF.RESERVE k 0.01 1000000000",
        &[
            ("0", "+OK"),
            ("67108864", "-ERR <any> needs <n> bytes, bf-max-filter-bytes allows 67108864"),
            ("3Mb", "-ERR <any> needs <n> bytes, bf-max-filter-bytes allows 3145728"),
            ("1gb", "-ERR <any> needs <n> bytes, bf-max-filter-bytes allows 1073741824"),
        ],
    )
    .refuses("", &[], &["-1", "1zb", "lots", "gb"]),
    row(
        "bf-layout",
        BLOOM,
        "BF.STATS k layout",
        &[
            ("bloomline", "*[$6 layout $9 bloomline]"),
            ("valkey-bloom", "*[$6 layout $12 valkey-bloom]"),
            ("redisbloom", "*[$6 layout $10 redisbloom]"),
        ],
    )
    .refuses("{bloomline, redisbloom, valkey-bloom}", &["other", "1"], &[]),
    row(
        "bloom-tightening-ratio",
        BLOOM,
        "BF.INFO k TIGHTENING",
        &[("0.5", "*[$3 0.5]"), ("0.25", "*[$4 0.25]"), ("0.001", "*[$5 0.001]")],
    )
    .refuses(FRACTION, &["0", "1", "-0.1"], &["x"])
    .beside("bf-layout valkey-bloom"),
    row("bloom-use-random-seed", SEEDS, ARE_SEEDS_EQUAL, &[("yes", "$5 false"), ("no", "$4 true")])
        .refuses("{no, yes}", &["maybe", "1"], &[]),
    // No reply shows this one.
    row("bloom-defrag-enabled", &[], "", &[("yes", ""), ("no", "")]).refuses(
        "{no, yes}",
        &["maybe", "1"],
        &[],
    ),
    row(
        "cf-layout",
        CUCKOO,
        "CF.INFO k LAYOUT",
        &[("bloomline", "*[$9 bloomline]"), ("redisbloom", "*[$10 redisbloom]")],
    )
    .refuses("{bloomline, redisbloom}", &["valkey-bloom", "other"], &[]),
    row(
        "cf-error-rate",
        CUCKOO,
        "CF.INFO k ERROR",
        &[
            ("0.01", "*[$4 0.01]"),
            ("0.002", "*[$5 0.002]"),
            ("0.25", "*[$4 0.25]"),
            ("+78125e-7", "*[$9 0.0078125]"),
        ],
    )
    .refuses(FRACTION, &["0", "1", "-0.1"], &["x", "0x1p-7"]),
    row(
        "cf-initial-size",
        CUCKOO_ADDED,
        "CF.INFO k BUCKETS",
        &[
            ("1024", "*[:512]"),
            ("500", "*[:256]"),
            ("4", "*[:2]"),
            ("1073741824", "*[:536870912]"),
            // Some of these only with another value of `cf-bucket-size`.
            ("2", ""),
            ("3", ""),
            ("20", ""),
            ("509", ""),
            ("510", ""),
        ],
    )
    .refuses("[2, 1073741824]", &["1", "0", "-8", "1073741825"], &["x"])
    .beside(REDISBLOOM),
    row(
        "cf-bucket-size",
        CUCKOO,
        "CF.INFO k BUCKETSIZE",
        &[("2", "*[:2]"), ("3", "*[:3]"), ("1", "*[:1]"), ("10", "*[:10]"), ("255", "*[:255]")],
    )
    .refuses("[1, 255]", &["0", "256", "-1"], &["x"])
    .beside(REDISBLOOM),
    row(
        "cf-max-iterations",
        CUCKOO,
        "CF.INFO k MAXITERATIONS",
        &[("20", "*[:20]"), ("7", "*[:7]"), ("1", "*[:1]"), ("65535", "*[:65535]")],
    )
    .refuses("[1, 65535]", &["0", "65536"], &["x"])
    .beside(REDISBLOOM),
    row(
        "cf-expansion-factor",
        CUCKOO,
        "CF.INFO k EXPANSION",
        // A filter rounds it up to a power of two.
        &[("1", "*[:1]"), ("3", "*[:4]"), ("0", "*[:0]"), ("32768", "*[:32768]")],
    )
    .refuses("[0, 32768]", &["-1", "32769"], &["x"])
    .beside(REDISBLOOM),
    row(
        "cf-max-expansions",
        &["CF.RESERVE k 4 LAYOUT REDISBLOOM"],
        "CF.ADD k a",
        &[("32", ":1"), ("1", "-Maximum expansions reached"), ("2", ":1"), ("65536", ":1")],
    )
    .refuses("[1, 65536]", &["0", "65537"], &["x"]),
];

impl Row {
    /// The replies that show the setting, in a filter of each call. How much memory is left is not
    /// the same from call to call.
    fn replies(&self, client: &mut Client) -> Vec<String> {
        let reply = |call: &&str| {
            client.ok("FLUSHALL SYNC");
            client.call(call);
            client.ask(self.shown).split(" the machine's ").take(1).collect()
        };
        self.created_by.iter().map(reply).collect()
    }

    /// Asserts that all filters show one of the values.
    pub fn assert_shows(&self, client: &mut Client, (value, expected): (&str, &str)) {
        for (call, reply) in self.created_by.iter().zip(self.replies(client)) {
            assert!(matches(expected, &reply), "{} {value}, {call}: {reply}", self.name);
        }
    }
}

/// What the filters show of all settings.
pub fn effects(client: &mut Client) -> Vec<String> {
    SETTINGS.iter().flat_map(|row| row.replies(client)).collect()
}

/// The row of a setting.
pub fn setting(name: &str) -> &'static Row {
    SETTINGS.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name} has no row"))
}

/// Names, without the prefix of the server, and values.
pub type Settings = BTreeMap<String, String>;

/// The defaults.
pub fn defaults() -> Settings {
    SETTINGS.iter().map(|row| (row.name.to_owned(), row.values[0].0.to_owned())).collect()
}

/// All settings of the module with their values, as the server lists them.
pub fn read(kind: &Kind, client: &mut Client) -> Settings {
    let Value::Array(reply) = client.call("CONFIG GET *") else { panic!("no array") };
    let texts: Vec<String> = reply.iter().map(text).collect();
    let (pairs, rest) = texts.as_chunks::<2>();
    assert!(rest.is_empty());
    let own = |name: &str| ["bf", "cf-", "bloom-"].iter().any(|start| name.starts_with(start));
    let pairs = pairs.iter().filter(|[name, _]| own(name)).map(|[name, value]| {
        let bare = name.strip_prefix("bf.").unwrap_or(name);
        assert_eq!(*name, kind.directive(bare));
        (bare.to_owned(), value.clone())
    });
    pairs.collect()
}

#[test]
fn filters_show_each_value_of_each_setting() {
    for_each_server(|kind| {
        for row in SETTINGS {
            for value in row.values.iter().filter(|(_, reply)| !reply.is_empty()) {
                let args = format!("{} {} {}", row.beside, row.name, value.0);
                let server = Setup::new().module_args(&args).start(kind);
                row.assert_shows(&mut server.resp2(), *value);
            }
        }
    });
}
