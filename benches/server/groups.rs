//! The rows of the table: filters of some shape, and the calls on them. To add a row, add a line.

use crate::items::Kind;
use crate::packed::{Form, PACKED_BATCH};
use crate::scale::Scale;
use crate::workloads::Op::{
    Count, Create, Delete, Duplicate, Fresh, Hit, Miss, More, NewestFills, Refresh,
};
use crate::workloads::{Case, GENERATIONS, Op, Shape, TINY_ITEMS, Traffic, Workload, thousands};

/// All groups of a scale, in the order in which they run.
pub fn groups(scale: Scale, kind: Kind) -> Vec<Workload> {
    // The usual size, or the tiny one in the smoke run, which has the same rows.
    let size = |usual, tiny| if scale == Scale::Smoke { tiny } else { usual };
    let cached = size(200_000, 2_000);
    // Items of a row of single commands; a round trip takes a hundred times as long as the command.
    let singles = if scale == Scale::Full { cached } else { cached / 4 };
    let waited = singles / 5;
    let asked = size(500_000, 2_000);
    let grown = size(1_000_000, 10_000);
    let (step, steps_asked) = (size(1_000, 100), size(50_000, 1_000));
    // Rows that add to the newest generation have as many items as it takes.
    let window = size(200_000, 8_000);
    let part = window / GENERATIONS;
    let (raw, raw_name) = match kind {
        Kind::Hex40 => (Kind::Bytes20, "20 raw bytes"),
        Kind::Bytes20 | Kind::Hex20 | Kind::Bytes8 => (Kind::Hex40, "40 characters"),
    };
    let [fixed, prefixed, lines] = Form::ALL;
    let batch = PACKED_BATCH.min(cached);

    let mut groups = vec![
        Workload {
            title: format!("In cache: {} reserved at 1 %", thousands(cached)),
            shape: Shape::Reserved { capacity: cached },
            filled: cached,
            kind,
            cases: vec![
                row("BF.MEXISTS", Hit, 1000, cached),
                row("BF.MEXISTS", Hit, 10, cached),
                row("BF.MEXISTS", Miss, 1000, cached),
                row("BF.MEXISTS", Miss, 10, cached),
                row("BF.MADD", Fresh, 1000, cached),
                row("BF.MADD", Fresh, 10, cached),
                row("BF.MADD", Duplicate, 1000, cached),
                row("BF.MADD", Duplicate, 10, cached),
                row("BF.EXISTS", Hit, 1, singles),
                row("BF.EXISTS", Miss, 1, singles),
                row("BF.ADD", Fresh, 1, singles),
                row("BF.ADD", Duplicate, 1, singles),
                row("BF.EXISTS", Hit, 1, waited).by(Traffic::OneByOne),
                row("BF.ADD", Fresh, 1, waited).by(Traffic::OneByOne),
                row("BF.MEXISTS", Hit, 1000, cached).by(Traffic::TwoClients),
                row("BF.MADD", Fresh, 1000, cached).by(Traffic::TwoClients),
                row("BF.EXISTS", Hit, 1, singles).by(Traffic::TwoClients),
            ],
        },
        Workload {
            title: format!("Items of {raw_name}: {} reserved at 1 %", thousands(cached)),
            shape: Shape::Reserved { capacity: cached },
            filled: cached,
            kind: raw,
            cases: vec![
                row("BF.MEXISTS", Hit, 1000, cached),
                row("BF.MEXISTS", Miss, 1000, cached),
                row("BF.MADD", Fresh, 1000, cached),
                row("BF.MADD", Duplicate, 1000, cached),
            ],
        },
        // Packed items, beside the same items as arguments.
        Workload {
            title: format!("Packed items of 20 characters: {} reserved at 1 %", thousands(cached)),
            shape: Shape::Reserved { capacity: cached },
            filled: cached,
            kind: Kind::Hex20,
            cases: vec![
                row("BF.MEXISTS", Hit, 1000, cached),
                row("BF.BULKEXISTS", Hit, batch, cached).packed(fixed),
                row("BF.BULKEXISTS", Hit, batch, cached).packed(prefixed),
                row("BF.BULKEXISTS", Hit, batch, cached).packed(lines),
                row("BF.MEXISTS", Miss, 1000, cached),
                row("BF.BULKEXISTS", Miss, batch, cached).packed(fixed),
                row("BF.BULKEXISTS", Miss, batch, cached).packed(prefixed),
                row("BF.BULKEXISTS", Miss, batch, cached).packed(lines),
                row("BF.MADD", Fresh, 1000, cached),
                row("BF.BULKADD", Fresh, batch, cached).packed(fixed),
                row("BF.BULKADD", Fresh, batch, cached).packed(prefixed),
                row("BF.BULKADD", Fresh, batch, cached).packed(lines),
                row("BF.MADD", Duplicate, 1000, cached),
                row("BF.BULKADD", Duplicate, batch, cached).packed(fixed),
                row("BF.BULKADD", Duplicate, batch, cached).packed(prefixed),
                row("BF.BULKADD", Duplicate, batch, cached).packed(lines),
            ],
        },
        Workload {
            title: format!("Default growth: no RESERVE, {} items", thousands(grown)),
            shape: Shape::Grown,
            filled: grown,
            kind,
            cases: vec![
                row("BF.MADD", Fresh, 1000, grown),
                row("BF.MEXISTS", Hit, 1000, cached),
                row("BF.MEXISTS", Miss, 1000, cached),
                row("BF.MADD", Duplicate, 1000, cached),
                row("BF.EXISTS", Hit, 1, singles),
                row("BF.EXISTS", Miss, 1, singles),
            ],
        },
        Workload {
            title: format!("EXPANSION 1: 100 layers of {}", thousands(step)),
            shape: Shape::Steps { capacity: step },
            filled: 100 * step,
            kind,
            cases: vec![
                row("BF.MEXISTS", Hit, 1000, steps_asked),
                row("BF.MEXISTS", Miss, 1000, steps_asked),
            ],
        },
        Workload {
            title: forgets("in cache", window),
            shape: Shape::Forgets { capacity: window },
            filled: part * (GENERATIONS + 1),
            kind,
            cases: vec![
                row("BF.MEXISTS", Hit, 1000, window),
                row("BF.MEXISTS", Miss, 1000, window),
                row("BF.MADD", NewestFills, 1000, part),
                row("BF.MADD", Duplicate, 1000, window),
                row("BF.MADD", Refresh, 1000, part),
                row("BF.EXISTS", Hit, 1, singles),
                row("BF.EXISTS", Miss, 1, singles),
                row("BF.ADD", NewestFills, 1, part),
                row("BF.ADD", Duplicate, 1, singles),
            ],
        },
        Workload {
            title: format!("Cuckoo filter, in cache: {} reserved", thousands(cached)),
            shape: Shape::Cuckoo { capacity: cached },
            filled: cached,
            kind,
            cases: vec![
                row("CF.MEXISTS", Hit, 1000, cached),
                row("CF.MEXISTS", Hit, 10, cached),
                row("CF.EXISTS", Hit, 1, singles),
                row("CF.MEXISTS", Miss, 1000, cached),
                row("CF.MEXISTS", Miss, 10, cached),
                row("CF.EXISTS", Miss, 1, singles),
                row("CF.INSERT", Fresh, 1000, cached),
                row("CF.INSERT", Fresh, 10, cached),
                row("CF.ADD", Fresh, 1, singles),
                row("CF.MDEL", Delete, 1000, cached),
                row("CF.MDEL", Delete, 10, cached),
                row("CF.DEL", Delete, 1, singles),
                row("CF.ADDNX", Fresh, 1, singles),
                row("CF.COUNT", Count, 1, singles),
            ],
        },
        Workload {
            title: format!(
                "Cuckoo filter, EXPANSION 2: 1,024 reserved, {} items",
                thousands(grown)
            ),
            shape: Shape::CuckooGrown,
            filled: grown,
            kind,
            cases: vec![
                row("CF.INSERT", Fresh, 1000, grown),
                row("CF.ADD", Fresh, 1, grown),
                row("CF.MEXISTS", Hit, 1000, cached),
                row("CF.MEXISTS", Miss, 1000, cached),
                row("CF.EXISTS", Hit, 1, singles),
                row("CF.EXISTS", Miss, 1, singles),
            ],
        },
    ];
    if scale == Scale::Quick {
        return groups;
    }

    let (big, more) = (size(128_000_000, 20_000), size(200_000, 1_000));
    // A quarter of the other large filter, because all generations are filled with items.
    let big_window = big / 4;
    let big_cuckoo = size(60_000_000, 20_000);
    let (keys, keys_asked) = (size(1_000_000, 1_000), cached.min(more));
    groups.extend([
        Workload {
            title: format!("Out of cache: {} reserved at 1 %, nearly full", thousands(big)),
            shape: Shape::Reserved { capacity: big },
            // Leaves room for the additions of twenty rounds.
            filled: big - 20 * (more + singles).min(big / 40),
            kind,
            cases: vec![
                row("BF.MEXISTS", Hit, 1000, asked),
                row("BF.MEXISTS", Miss, 1000, asked),
                row("BF.MADD", More, 1000, more),
                row("BF.EXISTS", Hit, 1, singles),
                row("BF.EXISTS", Miss, 1, singles),
                row("BF.ADD", More, 1, singles),
            ],
        },
        Workload {
            title: forgets("out of cache", big_window),
            shape: Shape::Forgets { capacity: big_window },
            filled: big_window / GENERATIONS * (GENERATIONS + 1),
            kind,
            cases: vec![row("BF.MEXISTS", Miss, 1000, asked)],
        },
        Workload {
            title: format!("First touch: {} reserved at 1 %, empty", thousands(big)),
            shape: Shape::Untouched { capacity: big },
            filled: 0,
            kind,
            cases: vec![row("BF.MADD", Fresh, 1000, size(10_000, 1_000))],
        },
        Workload {
            title: format!("Cuckoo filter, out of cache: {} reserved", thousands(big_cuckoo)),
            shape: Shape::Cuckoo { capacity: big_cuckoo },
            filled: big_cuckoo / 2,
            kind,
            cases: vec![
                row("CF.MEXISTS", Hit, 1000, asked),
                row("CF.MEXISTS", Miss, 1000, asked),
                row("CF.INSERT", More, 1000, more),
                row("CF.EXISTS", Hit, 1, singles),
                row("CF.EXISTS", Miss, 1, singles),
                row("CF.ADD", More, 1, singles),
            ],
        },
        // All keys are created. The other rows use as many as take acceptable time, spread over all
        // of them.
        Workload {
            title: format!("Tiny filters: {} keys, each call another key", thousands(keys)),
            shape: Shape::Tiny { keys },
            filled: 0,
            kind,
            cases: vec![
                row("BF.ADD", Create, 1, keys),
                row("BF.MADD", More, TINY_ITEMS - 1, keys_asked / 2 * (TINY_ITEMS - 1)),
                row("BF.EXISTS", Hit, 1, keys_asked),
                row("BF.EXISTS", Miss, 1, keys_asked),
                row("BF.ADD", Duplicate, 1, keys_asked),
            ],
        },
    ]);
    groups
}

/// A row of pipelined calls: command, what it does, items per call, items.
fn row(command: &'static str, op: Op, batch: u64, items: u64) -> Case {
    Case { command, op, batch, items, traffic: Traffic::Pipelined, form: None }
}

fn forgets(cache: &str, capacity: u64) -> String {
    let capacity = thousands(capacity);
    format!("Forgets, {cache}: {capacity} reserved at 1 % with GENERATIONS {GENERATIONS}, all full")
}
