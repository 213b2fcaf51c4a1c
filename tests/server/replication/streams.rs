//! What calls replicate, word for word.

use bloomline_harness::{Client, Replica, arguments};

use crate::packed::{FORMS, Form};
use crate::timed::{SLOT, Timed, time};

/// A call, and what it replicates, without the frame of a transaction. Instead of a call, `CLOCK n`
/// moves the clock by `n` slots of a window.
type Row = (&'static str, &'static [&'static str]);

const HEADER: &str = "BF.LOADCHUNK k 1 <data>";
const CUCKOO_HEADER: &str = "CF.LOADCHUNK k 1 <data>";
/// TTL is replicated as a time, not as the seconds to go.
const EXPIRES: &str = "PEXPIREAT k NOW";

/// More items than a sparse filter has.
const MANY: &str = "BF.MADD k 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17";
const MANY_PACKED: &str = "BF.BULKADD k FIXED 1 abcdefghijklmnopq";

/// The header has all options, and that of a sparse filter its items. Each of these calls gets an
/// empty server.
const CREATIONS: &[Row] = &[
    ("BF.RESERVE k 0.01 100 EXPANSION 4", &[HEADER]),
    ("BF.RESERVE k 0.01 100 NONSCALING", &[HEADER]),
    ("BF.RESERVE k 0.01 100 WINDOW 60 TTL 10", &[HEADER, EXPIRES]),
    ("BF.RESERVE k 0.01 100 LAYOUT REDISBLOOM TTL 10", &[HEADER, EXPIRES]),
    ("BF.ADD k a", &[HEADER]),
    ("BF.MADD k a b a", &[HEADER]),
    ("BF.BULKADD k FIXED 1 ab", &[HEADER]),
    (MANY, &[HEADER, MANY]),
    (MANY_PACKED, &[HEADER, MANY_PACKED]),
    ("BF.MADD k a a a a a a a a a a a a a a a a a", &[HEADER, "BF.ADD k a"]),
    ("BF.INSERT k CAPACITY 1000 ITEMS a", &[HEADER, "BF.ADD k a"]),
    ("BF.INSERT k CAPACITY 10 ERROR 0.1 ITEMS a b", &[HEADER, "BF.MADD k a b"]),
    ("BF.INSERT k NONSCALING CAPACITY 2 ITEMS a b c", &[HEADER, "BF.MADD k a b"]),
    ("BF.INSERT k WINDOW 60 TTL 10 ITEMS a b", &[HEADER, EXPIRES, "BF.MADD k a b"]),
    ("BF.INSERT k TTL 10 ITEMS a", &[HEADER, EXPIRES]),
    ("BF.INSERT k TTL 10 CAPACITY 1000 ITEMS a", &[HEADER, EXPIRES, "BF.ADD k a"]),
    ("CF.RESERVE k 100 BUCKETSIZE 4 MAXITERATIONS 7 EXPANSION 0", &[CUCKOO_HEADER]),
    ("CF.RESERVE k 100 LAYOUT REDISBLOOM TTL 10", &[CUCKOO_HEADER, EXPIRES]),
    ("CF.ADD k a", &[CUCKOO_HEADER, "CF.ADD k a"]),
    ("CF.ADDNX k a", &[CUCKOO_HEADER, "CF.ADDNX k a"]),
    ("CF.INSERT k ITEMS a b a", &[CUCKOO_HEADER, "CF.INSERT k ITEMS a b a"]),
    ("CF.INSERT k CAPACITY 7 ITEMS a b", &[CUCKOO_HEADER, "CF.INSERT k ITEMS a b"]),
    ("CF.INSERT k CAPACITY 7 TTL 10 ITEMS a", &[CUCKOO_HEADER, EXPIRES, "CF.ADD k a"]),
    ("CF.INSERTNX k CAPACITY 7 ITEMS a b a", &[CUCKOO_HEADER, "CF.INSERT k ITEMS a b"]),
];

const ADDITIONS: &[Row] = &[
    ("BF.RESERVE k 0.000001 1000", &[HEADER]),
    // All items are new.
    ("BF.ADD k a", &["BF.ADD k a"]),
    ("BF.MADD k b c d", &["BF.MADD k b c d"]),
    ("BF.INSERT k NOCREATE ITEMS e f", &["BF.MADD k e f"]),
    ("BF.INSERT k ITEMS g", &["BF.ADD k g"]),
    ("BF.BULKADD k count Fixed 2 opqr", &["BF.BULKADD k count Fixed 2 opqr"]),
    ("BF.BULKADD k FIXED 3 opqrst count", &["BF.BULKADD k FIXED 3 opqrst count"]),
    (r#"BF.BULKADD k lines "o\r\np\nq""#, &[r"BF.BULKADD k lines o\r\np\nq"]),
    // Some items are new. One that is repeated is replicated once.
    ("BF.MADD k a h b i c", &["BF.MADD k h i"]),
    ("BF.MADD k j j a j", &["BF.ADD k j"]),
    ("BF.INSERT k CAPACITY 7 ITEMS a l b", &["BF.ADD k l"]),
    ("BF.BULKADD k FIXED 1 xxyx COUNT", &["BF.BULKADD k FIXED 1 xy"]),
    // Items that are packed again keep their bytes, such as a line that ends with CR.
    (
        r#"BF.BULKADD k LINES "\nu\r\r\n\r\na\r\nv\rw\r\n\r\r\n\x00d""#,
        &[r"BF.BULKADD k LINES u\r\r\nv\rw\n\r\r\n\x00d\n"],
    ),
    (r#"BF.BULKADD k FIXED 3 "\n\n\nopq\x00\xff\r""#, &[r"BF.BULKADD k FIXED 3 \n\n\n\x00\xff\r"]),
    // No item is new.
    ("BF.ADD k a", &[]),
    ("BF.MADD k a b c", &[]),
    ("BF.INSERT k ITEMS a b", &[]),
    ("BF.INSERT k NOCREATE ITEMS a", &[]),
    ("BF.BULKADD k FIXED 1 abc", &[]),
    // There is no room for all.
    ("BF.RESERVE full 0.0001 3 NONSCALING", &["BF.LOADCHUNK full 1 <data>"]),
    ("BF.MADD full a b c d e", &["BF.MADD full a b c"]),
    ("BF.MADD full a d e", &[]),
    ("BF.ADD full d", &[]),
    ("BF.INSERT full ITEMS d", &[]),
    // Growth is not replicated, but the items that cause it.
    ("BF.RESERVE grown 0.0001 2", &["BF.LOADCHUNK grown 1 <data>"]),
    ("BF.MADD grown a b c d e f g", &["BF.MADD grown a b c d e f g"]),
    // Transactions and scripts replicate their effects, in order.
    ("MULTI", &[]),
    ("BF.MADD k a aa", &[]),
    ("BF.ADD k aa", &[]),
    ("BF.BULKADD k LINES aa", &[]),
    ("BF.ADD k bb", &[]),
    ("EXEC", &["BF.ADD k aa", "BF.ADD k bb"]),
    (
        r#"EVAL "redis.call('BF.MADD', KEYS[1], 'a', 'cc') redis.call('BF.ADD', KEYS[1], 'cc')
                 return redis.call('BF.BULKADD', KEYS[1], 'LINES', ARGV[1])" 1 k "a\r\ndd\r\ncc""#,
        &["BF.ADD k cc", r"BF.BULKADD k LINES dd\n"],
    ),
];

const CUCKOO: &[Row] = &[
    ("CF.RESERVE k 1000", &[CUCKOO_HEADER]),
    ("CF.ADD k a", &["CF.ADD k a"]),
    ("CF.ADD k a", &["CF.ADD k a"]),
    ("CF.ADDNX k b", &["CF.ADDNX k b"]),
    ("CF.INSERT k ITEMS c c", &["CF.INSERT k ITEMS c c"]),
    ("CF.INSERT k NOCREATE ITEMS d", &["CF.ADD k d"]),
    ("CF.INSERTNX k ITEMS a e b f", &["CF.INSERT k ITEMS e f"]),
    ("CF.INSERTNX k ITEMS a g b", &["CF.ADD k g"]),
    ("CF.DEL k a", &["CF.DEL k a"]),
    ("CF.MDEL k a b", &["CF.MDEL k a b"]),
    ("CF.MDEL k x c y c c d", &["CF.MDEL k c c d"]),
    ("CF.MDEL k x e y", &["CF.DEL k e"]),
    ("CF.BULKADD k FIXED 1 hij", &["CF.BULKADD k FIXED 1 hij"]),
    ("CF.BULKDEL k FIXED 1 hxyi", &["CF.BULKDEL k FIXED 1 hi"]),
    ("CF.BULKDEL k LINES j", &["CF.BULKDEL k LINES j"]),
    ("CF.COMPACT k", &["CF.COMPACT k"]),
    // Nothing is changed.
    ("CF.ADDNX k f", &[]),
    ("CF.INSERTNX k ITEMS f g", &[]),
    ("CF.DEL k x", &[]),
    ("CF.MDEL k x y", &[]),
    ("CF.BULKDEL k FIXED 1 xy", &[]),
    ("CF.BULKADD k LINES \"\\n\"", &[]),
    ("CF.COMPACT k", &[]),
    // Transactions and scripts.
    ("MULTI", &[]),
    ("CF.INSERT k ITEMS a b", &[]),
    ("CF.ADDNX k a", &[]),
    ("CF.MDEL k a x", &[]),
    ("EXEC", &["CF.INSERT k ITEMS a b", "CF.DEL k a"]),
    (
        r#"EVAL "redis.call('CF.ADDNX', KEYS[1], 'b') redis.call('CF.ADDNX', KEYS[1], 'c')
                 return redis.call('CF.DEL', KEYS[1], 'x')" 1 k"#,
        &["CF.ADDNX k c"],
    ),
];

/// RedisBloom has no call for several deletions, and none with packed items.
const CLASSIC_CUCKOO: &[Row] = &[
    ("CF.RESERVE k 1000 LAYOUT REDISBLOOM", &[CUCKOO_HEADER]),
    ("CF.INSERT k ITEMS a b c d a", &["CF.INSERT k ITEMS a b c d a"]),
    ("CF.MDEL k a x b", &["CF.DEL k a", "CF.DEL k b"]),
    ("CF.MDEL k c", &["CF.DEL k c"]),
    ("CF.MDEL k x y", &[]),
    ("CF.DEL k d", &["CF.DEL k d"]),
    ("CF.BULKADD k LINES \"e\\n\\nf\"", &["CF.INSERT k ITEMS e f"]),
    ("CF.BULKADD k LINES g", &["CF.INSERT k ITEMS g"]),
    ("CF.BULKDEL k FIXED 1 exf", &["CF.DEL k e", "CF.DEL k f"]),
    ("CF.COMPACT k", &["CF.COMPACT k"]),
    // Both buckets of this item are one, which has room for two copies.
    ("CF.RESERVE full 4 EXPANSION 0 LAYOUT REDISBLOOM", &["CF.LOADCHUNK full 1 <data>"]),
    ("CF.INSERT full ITEMS a a a", &["CF.INSERT full ITEMS a a"]),
];

const ROTATIONS: &[Row] = &[
    ("BF.RESERVE k 0.0000001 1000 WINDOW 8000 GENERATIONS 8", &[HEADER]),
    ("BF.ADD k a", &["BF.ADD k a"]),
    ("BF.ADD k a", &[]),
    ("CLOCK 1", &[]),
    ("BF.EXISTS k a", &[]),
    ("BF.ADD k b", &["BF.ROTATE k AT NOW", "BF.ADD k b"]),
    ("BF.ADD k c", &["BF.ADD k c"]),
    // A refreshed item is written.
    ("BF.MADD k a b c", &["BF.ADD k a"]),
    ("CLOCK 1", &[]),
    ("BF.MADD k b c d", &["BF.ROTATE k AT NOW", "BF.MADD k b c d"]),
    ("CLOCK 1", &[]),
    ("BF.INSERT k ITEMS d e", &["BF.ROTATE k AT NOW", "BF.MADD k d e"]),
    ("CLOCK 400", &[]),
    ("BF.INSERT k ITEMS d", &["BF.ROTATE k AT NOW", "BF.ADD k d"]),
    // A clock that was set back opens no generation, and is replicated once.
    ("CLOCK -160", &[]),
    ("BF.ADD k f", &["BF.ROTATE k AT NOW", "BF.ADD k f"]),
    ("BF.ADD k g", &["BF.ADD k g"]),
    // Without refreshing, a rotation may be all.
    ("BF.RESERVE o 0.01 100 WINDOW 8000 GENERATIONS 8 NOREFRESH", &["BF.LOADCHUNK o 1 <data>"]),
    ("BF.ADD o a", &["BF.ADD o a"]),
    ("CLOCK 1", &[]),
    ("BF.ADD o a", &["BF.ROTATE o AT NOW"]),
    // Transactions and scripts.
    ("BF.RESERVE m 0.001 100 GENERATIONS 3", &["BF.LOADCHUNK m 1 <data>"]),
    ("CLOCK 1", &[]),
    ("MULTI", &[]),
    ("BF.ADD o b", &[]),
    ("BF.ROTATE m", &[]),
    ("BF.ADD m b", &[]),
    ("EXEC", &["BF.ROTATE o AT NOW", "BF.ADD o b", "BF.ROTATE m AT NOW", "BF.ADD m b"]),
    ("CLOCK 1", &[]),
    (
        "EVAL \"redis.call('BF.ADD', 'o', 'c') redis.call('BF.ROTATE', 'm') return 1\" 2 o m",
        &["BF.ROTATE o AT NOW", "BF.ADD o c", "BF.ROTATE m AT NOW"],
    ),
];

const MERGES: &[Row] = &[
    ("BF.RESERVE k 0.000001 100 SEED 7", &[HEADER]),
    ("COPY k a", &["COPY k a"]),
    ("COPY k b", &["COPY k b"]),
    ("BF.ADD a a", &["BF.ADD a a"]),
    ("BF.ADD b b", &["BF.ADD b b"]),
    ("BF.MERGE k a", &["BF.MERGE k a"]),
    ("BF.MERGE new a b", &["DEL new", "BF.MERGE new a b"]),
    // Nothing is changed.
    ("BF.MERGE k a", &[]),
    ("BF.MERGE k k", &[]),
    ("BF.MERGE new a b k", &[]),
    // A refused merge.
    ("BF.RESERVE other 0.01 10", &["BF.LOADCHUNK other 1 <data>"]),
    ("BF.MERGE k other", &[]),
    ("BF.MERGE newer a other", &[]),
    ("BF.MERGE k missing", &[]),
    ("BF.MERGE k", &[]),
    // Transactions and scripts.
    ("MULTI", &[]),
    ("BF.MERGE k a", &[]),
    ("BF.ADD k c", &[]),
    ("BF.MERGE k b", &[]),
    ("EXEC", &["BF.ADD k c", "BF.MERGE k b"]),
    (
        "EVAL \"redis.call('BF.MERGE', 'a', 'a') redis.call('BF.MERGE', 'a', 'k') return 1\" 2 a k",
        &["BF.MERGE a k"],
    ),
    ("BF.RESERVE roomy 0.01 100000", &["BF.LOADCHUNK roomy 1 <data>"]),
    ("BF.COMPACT roomy", &["BF.COMPACT roomy"]),
    ("BF.COMPACT roomy", &[]),
    ("BF.COMPACT missing", &[]),
    ("BF.RESERVE r 0.01 643496 LAYOUT REDISBLOOM", &["BF.LOADCHUNK r 1 <data>"]),
    ("COPY r s", &["COPY r s"]),
    ("BF.ADD r a", &["BF.ADD r a"]),
    ("BF.MERGE s r", &["BF.MERGE s r"]),
    ("BF.MERGE s r", &[]),
    ("BF.COMPACT r", &["BF.COMPACT r"]),
    ("BF.COMPACT r", &[]),
];

/// A server with a clock, and a replica that records what it replicates.
struct Link {
    client: Client,
    timed: Timed,
    replica: Replica,
}

impl Link {
    fn on_each_server(test: impl Fn(Self) + Sync) {
        Timed::on_each_server(&[], |client, timed| {
            let replica = Replica::attach(&timed.server);
            test(Self { client, timed, replica });
        });
    }

    /// What was replicated since the last call. A time within a minute of now is written as NOW.
    fn lines(&mut self) -> Vec<String> {
        let now = time(&mut self.timed.server.resp2());
        let word = |word: &str| match word.parse::<i64>() {
            Ok(millis) if (millis / 1000 - now).abs() < 60 => "NOW".to_owned(),
            _ => word.to_owned(),
        };
        let lines = self.replica.lines(&self.timed.server).into_iter();
        lines.map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" ")).collect()
    }

    /// The same without the frame of transactions.
    fn writes(&mut self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line != "MULTI" && line != "EXEC");
        lines
    }

    /// Runs a call, and returns what it replicated.
    fn run(&mut self, call: &[Vec<u8>]) -> Vec<String> {
        self.client.run(call);
        self.writes()
    }

    fn check(&mut self, (call, expected): &Row) {
        match call.strip_prefix("CLOCK ") {
            Some(slots) => self.timed.clock.advance(SLOT * slots.parse::<i64>().unwrap()),
            None => drop(self.client.call(call)),
        }
        assert_eq!(self.writes(), *expected, "{call}");
    }

    fn clear(&mut self) {
        self.client.ok("FLUSHALL");
        self.writes();
    }
}

#[test]
fn calls_replicate_what_they_changed() {
    Link::on_each_server(|mut link| {
        for row in CREATIONS {
            link.check(row);
            link.clear();
        }
        for rows in [ADDITIONS, CUCKOO, CLASSIC_CUCKOO, ROTATIONS, MERGES] {
            rows.iter().for_each(|row| link.check(row));
            link.clear();
        }
    });
}

#[test]
fn creation_with_items_is_one_transaction() {
    Link::on_each_server(|mut link| {
        for (call, header) in
            [(MANY, HEADER), (MANY_PACKED, HEADER), ("CF.INSERT k ITEMS a b", CUCKOO_HEADER)]
        {
            link.client.call(call);
            assert_eq!(link.lines(), ["MULTI", header, call, "EXEC"]);
            link.clear();
        }
        for call in ["MULTI", "BF.RESERVE k 0.01 100", "BF.MADD k a b", "BF.ADD k a", "EXEC"] {
            link.client.call(call);
        }
        assert_eq!(link.lines(), ["MULTI", HEADER, "BF.MADD k a b", "EXEC"]);
    });
}

#[test]
fn chunks_are_replicated_verbatim() {
    Link::on_each_server(|mut link| {
        link.client.call("BF.MADD sparse a b c");
        link.client.ok("BF.RESERVE bloom 0.01 1000");
        link.client.call("BF.MADD bloom a b c");
        link.client.call("CF.INSERT cuckoo ITEMS a b c");
        link.writes();
        for (family, key) in [("BF", "sparse"), ("BF", "bloom"), ("CF", "cuckoo")] {
            for (next, data) in link.client.chunks(key) {
                let command = format!("{family}.LOADCHUNK copy:{key} {next}");
                let call = [arguments(&command), vec![data]].concat();
                link.client.run(&call);
                assert_eq!(link.replica.received(&link.timed.server), [call]);
            }
        }
    });
}

/// A call that adds items, one argument per item or packed.
fn addition<A: AsRef<[u8]>>(form: Option<Form>, items: &[A]) -> Vec<Vec<u8>> {
    match form {
        Some(form) => [arguments("BF.BULKADD k"), form.args(items)].concat(),
        None => {
            let items = items.iter().map(|item| item.as_ref().to_vec()).collect();
            [arguments("BF.MADD k"), items].concat()
        }
    }
}

/// The same as lines of the link; none for no items.
fn replicated<A: AsRef<[u8]>>(form: Option<Form>, items: &[A]) -> Vec<String> {
    let mut call = addition(form, items);
    if form.is_none() && items.len() == 1 {
        call[0] = b"BF.ADD".to_vec();
    }
    let words: Vec<_> = call.iter().map(|word| word.escape_ascii().to_string()).collect();
    if items.is_empty() { Vec::new() } else { vec![words.join(" ")] }
}

fn items(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{prefix}:{at:03}")).collect()
}

/// Runs a test for each form of items, with an empty filter of these options.
fn for_each_form(options: &str, test: impl Fn(&mut Link, Option<Form>) + Sync) {
    Link::on_each_server(|mut link| {
        for form in FORMS.map(Some).into_iter().chain([None]) {
            link.clear();
            link.client.ok(&format!("BF.RESERVE k 0.000001 {options}"));
            link.writes();
            test(&mut link, form);
        }
    });
}

#[test]
fn only_new_items_are_replicated_in_order() {
    for_each_form("3000", |link, form| {
        // Numbers around one group of items, and around several.
        for count in [1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 200] {
            let all = items(&format!("item:{count:03}"), count);
            let old: Vec<_> = all.iter().step_by(3).collect();
            let new: Vec<_> = all.iter().filter(|item| !old.contains(item)).collect();
            link.run(&addition(form, &old));
            assert_eq!(link.run(&addition(form, &all)), replicated(form, &new), "{form:?} {count}");
            assert_eq!(link.run(&addition(form, &all)), [""; 0]);
        }
    });
}

#[test]
fn calls_with_mostly_new_items_are_replicated_verbatim() {
    for_each_form("1000", |link, form| {
        let old = items("old", 3);
        link.run(&addition(form, &old));
        // Verbatim up to one sixteenth of old items: 2 of 32, and not 3 of 47.
        let sent = [&items("one", 30)[..], &old[..2]].concat();
        assert_eq!(link.run(&addition(form, &sent)), replicated(form, &sent), "{form:?}");
        let new = items("two", 44);
        let sent = [&new[..], &old[..]].concat();
        assert_eq!(link.run(&addition(form, &sent)), replicated(form, &new), "{form:?}");
    });
}

/// Not verbatim, because another server may have room.
#[test]
fn refused_items_are_not_replicated() {
    for_each_form("70 NONSCALING", |link, form| {
        let all = items("item", 200);
        assert_eq!(link.run(&addition(form, &all[..71])), replicated(form, &all[..70]), "{form:?}");
        assert_eq!(link.run(&addition(form, &all)), [""; 0], "{form:?}");
        assert_eq!(link.run(&addition(form, &all[70..])), [""; 0], "{form:?}");
    });
}
