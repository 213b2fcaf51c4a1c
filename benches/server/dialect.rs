//! The commands of each column for a row, with the same items.

use redis::{Cmd, cmd};

use crate::bit_string::BitString;
use crate::items::Item;
use crate::payload::{CHUNK_BYTES, Payload, send};
use crate::result::Result;
use crate::scale::Scale;
use crate::server::Server;
use crate::workloads::{Case, FRESH, Op, STANDING, Shape, Traffic, Workload};

/// The commands that a column supports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// `examples/baseline.rs`. With the hash of each item it has only calls of several items.
    Baseline { hashed: bool },
    /// BF.* commands; with windowed filters, packed items and cuckoo filters, or without.
    Bloom { forgets: bool, packs: bool, cuckoo: bool },
    /// The server's own sets, which are exact and store every item.
    Set,
    /// The server's own strings as bit arrays, k commands per item.
    Bits,
}

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
    pub fn has(self, workload: &Workload, case: &Case) -> bool {
        match (self, workload.shape) {
            (Dialect::Bloom { packs, .. }, _) if case.form.is_some() => packs,
            (_, _) if case.form.is_some() => false,
            (Dialect::Baseline { hashed }, _) => !hashed || case.batch > 1,
            (Dialect::Bloom { forgets, .. }, Shape::Forgets { .. }) => forgets,
            // RedisBloom deletes one item per call.
            (Dialect::Bloom { packs, cuckoo, .. }, Shape::Cuckoo { .. } | Shape::CuckooGrown) => {
                cuckoo && (packs || case.op != Op::Delete || case.batch == 1)
            }
            (Dialect::Bloom { .. }, _) => true,
            (_, Shape::Forgets { .. }) => false,
            // Neither allocates memory without writing to it.
            (_, Shape::Untouched { .. }) => false,
            (Dialect::Set, _) => workload.filled <= LARGEST_SET,
            (Dialect::Bits, Shape::Tiny { .. } | Shape::Cuckoo { .. } | Shape::CuckooGrown) => {
                false
            }
            (Dialect::Bits, _) => case.batch != 10 && case.traffic == Traffic::Pipelined,
        }
    }

    /// True with windowed filters.
    pub fn has_windows(self) -> bool {
        matches!(self, Dialect::Bloom { forgets: true, .. })
    }

    /// True if the answers depend on items.
    pub fn keeps_items(self) -> bool {
        !matches!(self, Dialect::Baseline { .. })
    }

    /// The line that creates the empty filter `key`; empty if the first addition does.
    fn create(self, workload: &Workload, key: &str) -> String {
        match (self, workload.shape) {
            (_, Shape::Tiny { .. }) | (Dialect::Set, _) => String::new(),
            (Dialect::Baseline { .. }, _) => format!("BASELINE.NEW {key}"),
            (Dialect::Bloom { .. }, shape) => shape.reserve(key),
            (Dialect::Bits, _) => format!("SETBIT {key} {} 0", bit_string(workload).bits() - 1),
        }
    }

    /// What is done before each sample of a row.
    pub fn prepare(self, server: &mut Server, workload: &Workload, case: &Case) -> Result<()> {
        match case.op {
            Op::Create => return server.run("FLUSHALL"),
            op if op.is_on_standing() => return Ok(()),
            _ => {}
        }
        // Not UNLINK, because freeing in the background would take time from the sample.
        server.run("DEL fresh")?;
        if matches!(workload.shape, Shape::Untouched { .. }) {
            // Otherwise the allocator reuses the pages of the previous round, which cause no page
            // faults.
            server.run("MEMORY PURGE")?;
        }
        let copies = matches!(case.op, Op::NewestFills | Op::Refresh);
        if copies && matches!(self, Dialect::Bloom { .. }) {
            server.run("COPY standing fresh")?;
            return server.run("BF.ROTATE fresh");
        }
        server.run(&self.create(workload, FRESH))?;
        if case.op == Op::Delete && self.keeps_items() {
            let items = (0..case.items).map(Item::Stored);
            let batch = case.items.min(1000) as usize;
            let all = Payload::of_items(self.filler(case), FRESH, batch, workload.kind, items);
            send(server, Traffic::Pipelined, &all)?;
        }
        Ok(())
    }

    /// Fills the standing filter of a group.
    pub fn fill(self, server: &mut Server, workload: &Workload) -> Result<()> {
        let Some(case) = workload.cases.iter().find(|case| self.has(workload, case)) else {
            return Ok(());
        };
        if self == Dialect::Bits && workload.filled > 0 {
            let string = bit_string(workload).filled(workload.filled, workload.kind);
            return Ok(cmd("SET").arg(STANDING).arg(string).exec(&mut server.connection)?);
        }
        server.run(&self.create(workload, STANDING))?;
        if !matches!(self, Dialect::Bloom { .. } | Dialect::Set) {
            return Ok(());
        }
        let part = workload.shape.items_per_generation().unwrap_or(workload.filled);
        // Never all payloads are in memory.
        let mut first = 0;
        while first < workload.filled {
            if first > 0 && first.is_multiple_of(part) {
                server.run("BF.ROTATE standing")?;
            }
            let end = workload.filled.min(first + FILL_SLICE).min((first / part + 1) * part);
            let items = (first..end).map(Item::Stored);
            let slice = Payload::of_items(self.filler(case), STANDING, 1000, workload.kind, items);
            send(server, Traffic::Pipelined, &slice)?;
            first = end;
        }
        Ok(())
    }

    /// The command that adds many items.
    fn filler(self, case: &Case) -> &'static str {
        match self {
            Dialect::Set => "SADD",
            _ if case.is_cuckoo() => "CF.INSERT",
            _ => "BF.MADD",
        }
    }

    /// The commands of a row.
    pub fn payload(self, workload: &Workload, case: &Case, round: u32, scale: Scale) -> Payload {
        // Seven commands per item: fewer items give the same result in acceptable time.
        let limit = match (self, scale) {
            (Dialect::Bits, Scale::Full) => 50_000,
            (Dialect::Bits, _) => 10_000,
            _ => u64::MAX,
        };
        let (name, kind) = (self.command(case), workload.kind);
        let chunk_bytes = if case.traffic == Traffic::OneByOne { 0 } else { CHUNK_BYTES };
        let mut payload = Payload::new(name, chunk_bytes);
        let (mut item, mut command) = (Vec::new(), Cmd::new());
        for call in case.calls(workload, round) {
            if payload.items >= limit {
                break;
            }
            if self != Dialect::Bits {
                payload.push_call(&call.key, kind, case.form, &call.items);
                continue;
            }
            let bits = bit_string(workload);
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
        }
        payload
    }

    /// The column's command for a row.
    fn command(self, case: &Case) -> &'static str {
        match (self, case.op.is_lookup(), case.batch) {
            (Dialect::Bloom { .. }, _, _) => case.command,
            (Dialect::Baseline { .. }, true, 1) => "BASELINE.KEY",
            (Dialect::Baseline { .. }, false, 1) => match case.op {
                Op::Duplicate => "BASELINE.KEYSEEN",
                Op::Create => "BASELINE.NEW",
                _ => "BASELINE.KEYADD",
            },
            (Dialect::Baseline { hashed: false }, _, _) => "BASELINE.ARR",
            (Dialect::Baseline { hashed: true }, _, _) => "BASELINE.HASH",
            (Dialect::Set, true, 1) => "SISMEMBER",
            (Dialect::Set, true, _) => "SMISMEMBER",
            (Dialect::Set, false, _) if case.op == Op::Delete => "SREM",
            (Dialect::Set, false, _) => "SADD",
            (Dialect::Bits, true, _) => "GETBIT",
            (Dialect::Bits, false, _) => "SETBIT",
        }
    }
}

/// The client-made filter of a group, large enough for all its items.
fn bit_string(workload: &Workload) -> BitString {
    BitString::for_items(match workload.shape {
        Shape::Reserved { capacity }
        | Shape::Untouched { capacity }
        | Shape::Forgets { capacity }
        | Shape::Cuckoo { capacity } => capacity,
        Shape::Grown | Shape::CuckooGrown | Shape::Steps { .. } | Shape::Tiny { .. } => {
            workload.filled
        }
    })
}
