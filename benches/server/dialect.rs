//! The commands of each column for a row, with the same items.

use std::ops::Range;

use redis::{Cmd, cmd};

use crate::bit_string::BitString;
use crate::items::{Item, Kind};
use crate::payload::{CHUNK_BYTES, Payload};
use crate::scale::Scale;
use crate::workloads::{
    Call, Case, FRESH, Family, GENERATIONS, Group, Op, STANDING, Shape, Traffic,
};

/// The commands that a column supports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// `examples/baseline.rs`. With the hash of each item it has only calls of several items.
    Baseline { hashed: bool },
    /// BF.* commands; with windowed filters and with packed items, or without.
    Bloom { forgets: bool, packs: bool },
    /// The server's own sets, which are exact and store every item.
    Set,
    /// The server's own strings as bit arrays, k commands per item.
    Bits,
}

/// Several items for a cuckoo filter, behind the word ITEMS.
const INSERT: &str = "CF.INSERT";

/// The number of items that are encoded at once while a standing filter is filled.
const FILL_SLICE: u64 = 200_000;

/// Larger sets are not built: 128 million members take about 12 GB.
const LARGEST_SET: u64 = 2_000_000;

impl Dialect {
    /// True if the column has this row.
    ///
    /// Bit strings have no calls of several items. Their pipelined single commands are shown with
    /// the largest calls and with single calls. Tiny filters would be strings whose size the client
    /// chooses.
    pub fn has(self, group: &Group, case: &Case) -> bool {
        match (self, group.shape) {
            (Dialect::Bloom { packs, .. }, _) if case.form.is_some() => packs,
            (_, _) if case.form.is_some() => false,
            (Dialect::Baseline { hashed }, _) => !hashed || case.batch > 1,
            (Dialect::Bloom { forgets, .. }, Shape::Forgets { .. }) => forgets,
            // RedisBloom deletes one item per call.
            (Dialect::Bloom { packs, .. }, Shape::Cuckoo { .. } | Shape::CuckooGrown) => {
                packs || case.op != Op::Delete || case.batch == 1
            }
            (Dialect::Bloom { .. }, _) => true,
            (_, Shape::Forgets { .. }) => false,
            // Neither allocates memory without writing to it.
            (_, Shape::Untouched { .. }) => false,
            (Dialect::Set, _) => group.filled <= LARGEST_SET,
            (Dialect::Bits, Shape::Tiny { .. } | Shape::Cuckoo { .. } | Shape::CuckooGrown) => {
                false
            }
            (Dialect::Bits, _) => case.batch != 10 && case.traffic == Traffic::Pipelined,
        }
    }

    /// True if the answers depend on items.
    pub fn keeps_items(self) -> bool {
        !matches!(self, Dialect::Baseline { .. })
    }

    /// The commands that create the empty filter `key`.
    fn create(self, group: &Group, key: &str) -> Vec<Cmd> {
        let reserve = |capacity: u64| {
            let mut command = cmd("BF.RESERVE");
            command.arg(key).arg("0.01").arg(capacity);
            command
        };
        match (self, group.shape) {
            (_, Shape::Tiny { .. }) | (Dialect::Set, _) | (Dialect::Bloom { .. }, Shape::Grown) => {
                vec![]
            }
            (Dialect::Baseline { .. }, _) => vec![cmd("BASELINE.NEW").arg(key).clone()],
            (
                Dialect::Bloom { .. },
                Shape::Reserved { capacity } | Shape::Untouched { capacity },
            ) => vec![reserve(capacity)],
            (Dialect::Bloom { .. }, Shape::Steps { capacity }) => {
                vec![reserve(capacity).arg("EXPANSION").arg(1).clone()]
            }
            (Dialect::Bloom { .. }, Shape::Forgets { capacity }) => {
                vec![reserve(capacity).arg("GENERATIONS").arg(GENERATIONS).clone()]
            }
            (Dialect::Bloom { .. }, Shape::Cuckoo { capacity }) => {
                vec![cmd("CF.RESERVE").arg(key).arg(capacity).clone()]
            }
            (Dialect::Bloom { .. }, Shape::CuckooGrown) => {
                vec![cmd("CF.RESERVE").arg(key).arg(1024).arg("EXPANSION").arg(2).clone()]
            }
            (Dialect::Bits, _) => {
                let last = bit_string(group).bits() - 1;
                vec![cmd("SETBIT").arg(key).arg(last).arg(0).clone()]
            }
        }
    }

    /// The commands to send before each sample of a row.
    pub fn prepare(self, group: &Group, case: &Case) -> Vec<Cmd> {
        match case.op {
            // Not UNLINK, because freeing in the background would take time from the sample.
            Op::Fresh | Op::FreshIfAbsent => {
                let mut commands = vec![cmd("DEL").arg(FRESH).clone()];
                if matches!(group.shape, Shape::Untouched { .. }) {
                    // Otherwise the allocator reuses the pages of the previous round, which cause
                    // no page faults.
                    commands.push(cmd("MEMORY").arg("PURGE").clone());
                }
                commands.extend(self.create(group, FRESH));
                commands
            }
            Op::Delete => {
                let mut commands = vec![cmd("DEL").arg(FRESH).clone()];
                commands.extend(self.create(group, FRESH));
                if self.keeps_items() {
                    let all = Case { op: Op::Fresh, batch: case.items.min(1000), ..*case };
                    let name = self.command(&all);
                    let add = |call| several(name, &call, group.kind);
                    commands.extend(all.calls(group, 0).map(add));
                }
                commands
            }
            Op::Create => vec![cmd("FLUSHALL")],
            Op::NewestFills | Op::Refresh => {
                let mut commands = vec![cmd("DEL").arg(FRESH).clone()];
                if matches!(self, Dialect::Bloom { .. }) {
                    commands.push(cmd("COPY").arg(STANDING).arg(FRESH).clone());
                    commands.push(rotate(FRESH));
                } else {
                    commands.extend(self.create(group, FRESH));
                }
                commands
            }
            _ => vec![],
        }
    }

    /// The payloads that fill the standing filter of a group, made one at a time so that they are
    /// never all in memory.
    pub fn fill(self, group: &Group) -> Box<dyn Iterator<Item = Payload> + '_> {
        let mut create = self.create(group, STANDING);
        if self == Dialect::Bits && group.filled > 0 {
            let string = bit_string(group).filled(group.filled, group.kind);
            create = vec![cmd("SET").arg(STANDING).arg(string).clone()];
        }
        let single = |command: Cmd| {
            let mut payload = Payload::new("", CHUNK_BYTES);
            payload.push(&command, 0);
            payload
        };
        let is_filled_by_commands = matches!(self, Dialect::Bloom { .. } | Dialect::Set);
        let filled = if is_filled_by_commands { group.filled } else { 0 };
        let part = group.shape.items_per_generation().unwrap_or(filled.max(1));
        let parts = (0..filled.div_ceil(part)).flat_map(move |number| {
            let range = number * part..((number + 1) * part).min(filled);
            let rotation = (number > 0).then(|| single(rotate(STANDING)));
            rotation.into_iter().chain(self.fill_range(group, range))
        });
        Box::new(create.into_iter().map(single).chain(parts))
    }

    /// The payloads that add these items to the standing filter.
    fn fill_range(self, group: &Group, range: Range<u64>) -> impl Iterator<Item = Payload> {
        let filled = range.end - range.start;
        (0..filled.div_ceil(FILL_SLICE)).map(move |slice| {
            let start = range.start + slice * FILL_SLICE;
            let items = FILL_SLICE.min(range.end - start);
            let case = Case {
                op: Op::More,
                batch: items.min(1000),
                items,
                traffic: Traffic::Pipelined,
                form: None,
                family: group.cases.first().map_or(Family::Bloom, |case| case.family),
            };
            let calls = (0..items.div_ceil(case.batch)).map(move |call| {
                let first = start + call * case.batch;
                let end = (first + case.batch).min(start + items);
                Call { key: STANDING.to_owned(), items: (first..end).map(Item::Stored).collect() }
            });
            self.encode(group, &case, calls, u64::MAX)
        })
    }

    /// The commands of a row.
    pub fn payload(self, group: &Group, case: &Case, round: u32, scale: Scale) -> Payload {
        // Seven commands per item: fewer items give the same result in acceptable time.
        let limit = match (self, scale) {
            (Dialect::Bits, Scale::Full) => 50_000,
            (Dialect::Bits, _) => 10_000,
            _ => u64::MAX,
        };
        self.encode(group, case, case.calls(group, round), limit)
    }

    fn encode(
        self,
        group: &Group,
        case: &Case,
        calls: impl Iterator<Item = Call>,
        limit: u64,
    ) -> Payload {
        let (name, kind) = (self.command(case), group.kind);
        let mut payload =
            Payload::new(name, if case.traffic == Traffic::OneByOne { 0 } else { CHUNK_BYTES });
        let mut item = Vec::new();
        let mut command = Cmd::new();
        for call in calls {
            if payload.items >= limit {
                break;
            }
            if self == Dialect::Bits {
                let bits = bit_string(group);
                for number in call.items {
                    kind.write(number, &mut item);
                    for (i, position) in bits.positions(&item).enumerate() {
                        command.clear();
                        command.arg(name).arg(&call.key).arg(position);
                        if name == "SETBIT" {
                            command.arg(1);
                        }
                        payload.push(&command, u64::from(i == 0));
                    }
                }
            } else if let Some(form) = case.form {
                let data = form.pack(kind, call.items.iter().copied());
                let command = form.call(name, &call.key, kind, &data);
                payload.push(&command, call.items.len() as u64);
            } else {
                payload.push(&several(name, &call, kind), call.items.len() as u64);
            }
        }
        payload
    }

    /// The column's command for a row.
    fn command(self, case: &Case) -> &'static str {
        let is_lookup = matches!(case.op, Op::Hit | Op::Miss | Op::Count);
        match (self, is_lookup, case.batch) {
            (Dialect::Baseline { .. }, _, 1) => match case.op {
                Op::Hit | Op::Miss | Op::Count => "BASELINE.KEY",
                Op::Duplicate => "BASELINE.KEYSEEN",
                Op::Create => "BASELINE.NEW",
                Op::Fresh | Op::FreshIfAbsent | Op::More | Op::Delete => "BASELINE.KEYADD",
                Op::NewestFills | Op::Refresh => "BASELINE.KEYADD",
            },
            (Dialect::Baseline { hashed: false }, _, _) => "BASELINE.ARR",
            (Dialect::Baseline { hashed: true }, _, _) => "BASELINE.HASH",
            (Dialect::Bloom { .. }, _, _) if case.family == Family::Cuckoo => {
                match (case.op, case.batch) {
                    (Op::Hit | Op::Miss, 1) => "CF.EXISTS",
                    (Op::Hit | Op::Miss, _) => "CF.MEXISTS",
                    (Op::Count, _) => "CF.COUNT",
                    (Op::FreshIfAbsent, _) => "CF.ADDNX",
                    (Op::Delete, 1) => "CF.DEL",
                    (Op::Delete, _) => "CF.MDEL",
                    (_, 1) => "CF.ADD",
                    _ => INSERT,
                }
            }
            (Dialect::Set, _, _) if case.op == Op::Delete => "SREM",
            (Dialect::Bloom { .. }, true, _) if case.form.is_some() => "BF.BULKEXISTS",
            (Dialect::Bloom { .. }, false, _) if case.form.is_some() => "BF.BULKADD",
            (Dialect::Bloom { .. }, true, 1) => "BF.EXISTS",
            (Dialect::Bloom { .. }, true, _) => "BF.MEXISTS",
            (Dialect::Bloom { .. }, false, 1) => "BF.ADD",
            (Dialect::Bloom { .. }, false, _) => "BF.MADD",
            (Dialect::Set, true, 1) => "SISMEMBER",
            (Dialect::Set, true, _) => "SMISMEMBER",
            (Dialect::Set, false, _) => "SADD",
            (Dialect::Bits, true, _) => "GETBIT",
            (Dialect::Bits, false, _) => "SETBIT",
        }
    }
}

/// A command with the items of a call as its arguments.
fn several(name: &str, call: &Call, kind: Kind) -> Cmd {
    let (mut command, mut item) = (cmd(name), Vec::new());
    command.arg(&call.key);
    if name == INSERT {
        command.arg("ITEMS");
    }
    for number in &call.items {
        kind.write(*number, &mut item);
        command.arg(item.as_slice());
    }
    command
}

/// Opens a generation of a windowed filter.
fn rotate(key: &str) -> Cmd {
    cmd("BF.ROTATE").arg(key).clone()
}

/// The client-made filter of a group, large enough for all its items.
fn bit_string(group: &Group) -> BitString {
    BitString::for_items(match group.shape {
        Shape::Reserved { capacity }
        | Shape::Untouched { capacity }
        | Shape::Forgets { capacity }
        | Shape::Cuckoo { capacity } => capacity,
        Shape::Grown | Shape::CuckooGrown | Shape::Steps { .. } | Shape::Tiny { .. } => {
            group.filled
        }
    })
}
