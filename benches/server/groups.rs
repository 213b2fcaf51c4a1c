//! The rows of the table: the filters, and the calls on them.

use crate::items::Kind;
use crate::packed::{Form, PACKED_BATCH};
use crate::scale::Scale;
use crate::workloads::{
    Case, Family, GENERATIONS, Group, Op, Shape, TINY_ITEMS, Traffic, thousands,
};

/// All groups of a scale, in the order in which they run.
pub fn groups(scale: Scale, kind: Kind) -> Vec<Group> {
    let sizes = Sizes { scale, kind };
    let mut groups = vec![
        sizes.cached(),
        sizes.raw(),
        sizes.packed(),
        sizes.grown(),
        sizes.steps(),
        sizes.forgets(),
        sizes.cuckoo(),
        sizes.cuckoo_grown(),
    ];
    if scale != Scale::Quick {
        groups.extend([
            sizes.big(),
            sizes.forgets_big(),
            sizes.untouched(),
            sizes.cuckoo_big(),
            sizes.tiny(),
        ]);
    }
    groups
}

/// A row of pipelined calls.
fn case(op: Op, batch: u64, items: u64) -> Case {
    Case { op, batch, items, traffic: Traffic::Pipelined, form: None, family: Family::Bloom }
}

/// The sizes of filters and calls.
#[derive(Clone, Copy)]
struct Sizes {
    scale: Scale,
    kind: Kind,
}

impl Sizes {
    /// The usual size, or the tiny one in the smoke run, which has the same rows.
    fn size(self, usual: u64, tiny: u64) -> u64 {
        if self.scale == Scale::Smoke { tiny } else { usual }
    }

    fn cached_items(self) -> u64 {
        self.size(200_000, 2_000)
    }

    /// Items of a row of single commands.
    fn singles(self) -> u64 {
        if self.scale == Scale::Full { self.cached_items() } else { self.cached_items() / 4 }
    }

    fn group(self, title: String, shape: Shape, filled: u64, cases: Vec<Case>) -> Group {
        Group { title, shape, filled, kind: self.kind, cases }
    }

    fn cached(self) -> Group {
        let (cached, singles) = (self.cached_items(), self.singles());
        let mut cases = Vec::new();
        for op in [Op::Hit, Op::Miss, Op::Fresh, Op::Duplicate] {
            cases.extend([1000, 10].map(|batch| case(op, batch, cached)));
        }
        for op in [Op::Hit, Op::Miss, Op::Fresh, Op::Duplicate] {
            cases.push(case(op, 1, singles));
        }
        // A round trip takes a hundred times as long as the command.
        for op in [Op::Hit, Op::Fresh] {
            cases.push(Case { traffic: Traffic::OneByOne, ..case(op, 1, singles / 5) });
        }
        cases.push(Case { traffic: Traffic::TwoClients, ..case(Op::Hit, 1000, cached) });
        cases.push(Case { traffic: Traffic::TwoClients, ..case(Op::Fresh, 1000, cached) });
        cases.push(Case { traffic: Traffic::TwoClients, ..case(Op::Hit, 1, singles) });
        let title = format!("In cache: {} reserved at 1 %", thousands(cached));
        self.group(title, Shape::Reserved { capacity: cached }, cached, cases)
    }

    /// The same with the other kind of items.
    fn raw(self) -> Group {
        let cached = self.cached_items();
        let (kind, name) = match self.kind {
            Kind::Hex40 => (Kind::Bytes20, "20 raw bytes"),
            Kind::Bytes20 | Kind::Hex20 => (Kind::Hex40, "40 characters"),
        };
        let cases =
            [Op::Hit, Op::Miss, Op::Fresh, Op::Duplicate].map(|op| case(op, 1000, cached)).to_vec();
        let title = format!("Items of {name}: {} reserved at 1 %", thousands(cached));
        Sizes { kind, ..self }.group(title, Shape::Reserved { capacity: cached }, cached, cases)
    }

    /// Packed items, beside the same items as arguments.
    fn packed(self) -> Group {
        let cached = self.cached_items();
        let mut cases = Vec::new();
        for op in [Op::Hit, Op::Miss, Op::Fresh, Op::Duplicate] {
            cases.push(case(op, 1000, cached));
            for form in Form::ALL {
                let batch = PACKED_BATCH.min(cached);
                cases.push(Case { form: Some(form), ..case(op, batch, cached) });
            }
        }
        let title = format!("Packed items of 20 characters: {} reserved at 1 %", thousands(cached));
        Sizes { kind: Kind::Hex20, ..self }.group(
            title,
            Shape::Reserved { capacity: cached },
            cached,
            cases,
        )
    }

    fn grown(self) -> Group {
        let (grown, cached, singles) =
            (self.size(1_000_000, 10_000), self.cached_items(), self.singles());
        let cases = vec![
            case(Op::Fresh, 1000, grown),
            case(Op::Hit, 1000, cached),
            case(Op::Miss, 1000, cached),
            case(Op::Duplicate, 1000, cached),
            case(Op::Hit, 1, singles),
            case(Op::Miss, 1, singles),
        ];
        let title = format!("Default growth: no RESERVE, {} items", thousands(grown));
        self.group(title, Shape::Grown, grown, cases)
    }

    fn steps(self) -> Group {
        let (step, asked) = (self.size(1_000, 100), self.size(50_000, 1_000));
        let cases = vec![case(Op::Hit, 1000, asked), case(Op::Miss, 1000, asked)];
        let title = format!("EXPANSION 1: 100 layers of {}", thousands(step));
        self.group(title, Shape::Steps { capacity: step }, 100 * step, cases)
    }

    fn forgets(self) -> Group {
        let cached = self.size(200_000, 8_000);
        // Rows that add to the newest generation have as many items as it takes.
        let (part, singles) = (cached / GENERATIONS, self.singles());
        let cases = vec![
            case(Op::Hit, 1000, cached),
            case(Op::Miss, 1000, cached),
            case(Op::NewestFills, 1000, part),
            case(Op::Duplicate, 1000, cached),
            case(Op::Refresh, 1000, part),
            case(Op::Hit, 1, singles),
            case(Op::Miss, 1, singles),
            case(Op::NewestFills, 1, part),
            case(Op::Duplicate, 1, singles),
        ];
        self.group_that_forgets("in cache", cached, cases)
    }

    fn forgets_big(self) -> Group {
        let cases = vec![case(Op::Miss, 1000, self.size(500_000, 2_000))];
        // A quarter of the other large filter, because all generations are filled with items.
        self.group_that_forgets("out of cache", self.big_capacity() / 4, cases)
    }

    fn group_that_forgets(self, cache: &str, capacity: u64, cases: Vec<Case>) -> Group {
        let title = format!(
            "Forgets, {cache}: {} reserved at 1 % with GENERATIONS {GENERATIONS}, all full",
            thousands(capacity)
        );
        let filled = capacity / GENERATIONS * (GENERATIONS + 1);
        self.group(title, Shape::Forgets { capacity }, filled, cases)
    }

    fn cuckoo(self) -> Group {
        let (cached, singles) = (self.cached_items(), self.singles());
        let mut cases = Vec::new();
        for op in [Op::Hit, Op::Miss, Op::Fresh, Op::Delete] {
            cases.extend([1000, 10].map(|batch| case(op, batch, cached)));
            cases.push(case(op, 1, singles));
        }
        cases.push(case(Op::FreshIfAbsent, 1, singles));
        cases.push(case(Op::Count, 1, singles));
        self.cuckoo_group("in cache", cached, cached, cases)
    }

    fn cuckoo_big(self) -> Group {
        let asked = self.size(500_000, 2_000);
        let cases = vec![
            case(Op::Hit, 1000, asked),
            case(Op::Miss, 1000, asked),
            case(Op::More, 1000, self.size(200_000, 1_000)),
            case(Op::Hit, 1, self.singles()),
            case(Op::Miss, 1, self.singles()),
            case(Op::More, 1, self.singles()),
        ];
        let capacity = self.size(60_000_000, 20_000);
        self.cuckoo_group("out of cache", capacity, capacity / 2, cases)
    }

    fn cuckoo_grown(self) -> Group {
        let (grown, asked, singles) =
            (self.size(1_000_000, 10_000), self.cached_items(), self.singles());
        let cases = vec![
            case(Op::Fresh, 1000, grown),
            case(Op::Fresh, 1, grown),
            case(Op::Hit, 1000, asked),
            case(Op::Miss, 1000, asked),
            case(Op::Hit, 1, singles),
            case(Op::Miss, 1, singles),
        ];
        let cases = cases.into_iter().map(|case| Case { family: Family::Cuckoo, ..case }).collect();
        let title =
            format!("Cuckoo filter, EXPANSION 2: 1,024 reserved, {} items", thousands(grown));
        self.group(title, Shape::CuckooGrown, grown, cases)
    }

    fn cuckoo_group(self, cache: &str, capacity: u64, filled: u64, cases: Vec<Case>) -> Group {
        let cases = cases.into_iter().map(|case| Case { family: Family::Cuckoo, ..case }).collect();
        let title = format!("Cuckoo filter, {cache}: {} reserved", thousands(capacity));
        self.group(title, Shape::Cuckoo { capacity }, filled, cases)
    }

    fn big(self) -> Group {
        let (big, more, asked) =
            (self.big_capacity(), self.size(200_000, 1_000), self.size(500_000, 2_000));
        let cases = vec![
            case(Op::Hit, 1000, asked),
            case(Op::Miss, 1000, asked),
            case(Op::More, 1000, more),
            case(Op::Hit, 1, self.singles()),
            case(Op::Miss, 1, self.singles()),
            case(Op::More, 1, self.singles()),
        ];
        let title = format!("Out of cache: {} reserved at 1 %, nearly full", thousands(big));
        // Leaves room for the additions of twenty rounds.
        let added = (more + self.singles()).min(big / 40);
        self.group(title, Shape::Reserved { capacity: big }, big - 20 * added, cases)
    }

    fn untouched(self) -> Group {
        let big = self.big_capacity();
        let title = format!("First touch: {} reserved at 1 %, empty", thousands(big));
        let cases = vec![case(Op::Fresh, 1000, self.size(10_000, 1_000))];
        self.group(title, Shape::Untouched { capacity: big }, 0, cases)
    }

    fn big_capacity(self) -> u64 {
        self.size(128_000_000, 20_000)
    }

    /// All keys are created. The other rows use as many as take acceptable time, spread over all of
    /// them.
    fn tiny(self) -> Group {
        let (keys, asked) =
            (self.size(1_000_000, 1_000), self.cached_items().min(self.size(200_000, 1_000)));
        let more = asked / 2 * (TINY_ITEMS - 1);
        let cases = vec![
            case(Op::Create, 1, keys),
            case(Op::More, TINY_ITEMS - 1, more),
            case(Op::Hit, 1, asked),
            case(Op::Miss, 1, asked),
            case(Op::Duplicate, 1, asked),
        ];
        let title = format!("Tiny filters: {} keys, each call another key", thousands(keys));
        self.group(title, Shape::Tiny { keys }, 0, cases)
    }
}
