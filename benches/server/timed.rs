//! Rows whose figure is the time per item: of workloads on all columns.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use redis::cmd;

use crate::bit_string::HASHES;
use crate::column::Column;
use crate::dialect::Dialect;
use crate::payload::{Payload, send_ahead};
use crate::result::Result;
use crate::row::{Figures, Group, Repeat, Row};
use crate::sample::sample;
use crate::scale::Scale;
use crate::workloads::{Case, Op, STANDING, Shape, Workload};

/// A group for each of these workloads.
pub fn groups(workloads: Vec<Workload>, scale: Scale, rounds: u32) -> Vec<Group> {
    workloads.into_iter().map(|workload| group(Rc::new(workload), scale, rounds)).collect()
}

fn group(workload: Rc<Workload>, scale: Scale, rounds: u32) -> Group {
    let rows = workload.cases.iter().map(|&case| row(Rc::clone(&workload), case, scale)).collect();
    let filled = Rc::clone(&workload);
    let held = workload.stands_with(rounds);
    Group {
        is_pinned: true,
        repeat: Repeat::Rounds(rounds),
        // The first row of the tiny filters creates them.
        is_whole: matches!(workload.shape, Shape::Tiny { .. }),
        setup: Box::new(move |column| column.dialect.fill(&mut column.server, &filled)),
        bytes_per_item: Box::new(move |column| match held {
            Some(items) if column.dialect.keeps_items() => bytes_per_item(column, items),
            _ => Ok(None),
        }),
        ..Group::new(workload.title.clone(), |_| true, rows)
    }
}

/// The bytes per item of the standing filter as the server reports them; `None` if there is no such
/// filter, for example because a set was too large.
fn bytes_per_item(column: &mut Column, items: u64) -> Result<Option<f64>> {
    let bytes: Option<u64> =
        cmd("MEMORY").arg("USAGE").arg(STANDING).query(&mut column.server.connection)?;
    Ok(bytes.map(|bytes| bytes as f64 / items as f64))
}

fn row(workload: Rc<Workload>, case: Case, scale: Scale) -> Row {
    // The encoded commands of each dialect, and the round for which they were made. New items for
    // a standing filter differ from round to round. All other payloads stay the same.
    let payloads = RefCell::new(HashMap::<Dialect, (u32, Payload)>::new());
    let of = Rc::clone(&workload);
    let measure = move |column: &mut Column, round| {
        let dialect = column.dialect;
        let mut payloads = payloads.borrow_mut();
        if case.op == Op::More {
            payloads.retain(|_, (made, _)| *made == round);
        }
        let make = || (round, dialect.payload(&workload, &case, round, scale));
        let (_, payload) = payloads.entry(dialect).or_insert_with(make);
        dialect.prepare(&mut column.server, &workload, &case)?;
        figures(column, &case, payload)
    };
    Row {
        name: case.name(),
        items: Some((case.batch, case.items)),
        has: Box::new(move |column| column.dialect.has(&of, &case)),
        measure: Box::new(measure),
    }
}

/// Runs a payload once and times it.
///
/// A part of the payload runs before, if it changes nothing, because other servers have used the
/// processor and its caches since the last turn.
fn figures(column: &mut Column, case: &Case, payload: &Payload) -> Result<Figures> {
    if case.op.is_lookup() || case.op == Op::Duplicate {
        let part = payload.chunks.len().div_ceil(8);
        send_ahead(&mut column.server.connection, payload, payload.chunks.iter().take(part))?;
    }
    let sample = sample(&mut column.server, case.traffic, payload)?;
    let items = payload.items as f64;
    let share = sample.ones / items;
    let (least, most) = bounds(column.dialect, case);
    if !(least..=most).contains(&share) {
        let wrong = format!("{share:.4} of the items got 1, not {least} to {most}");
        return Err(format!("wrong answers: {wrong}").into());
    }
    let mut figures = vec![sample.microseconds * 1000.0 / items, sample.faults / items];
    if case.op == Op::Miss {
        figures.push(share);
    }
    Ok(figures)
}

/// The least and the largest share of the items that a column answers with 1.
fn bounds(dialect: Dialect, case: &Case) -> (f64, f64) {
    match (dialect, case.op) {
        (Dialect::Baseline { .. }, _) => (1.0, 1.0),
        (Dialect::Bits, Op::Hit) => (HASHES as f64, HASHES as f64),
        // SETBIT returns the old bit. GETBIT of an absent item returns any mix.
        (Dialect::Bits, _) => (0.0, HASHES as f64),
        // A cuckoo filter in RedisBloom's layout has no target rate.
        (Dialect::Bloom { forgets: false, .. }, Op::Miss) if case.is_cuckoo() => (0.0, 0.25),
        // A filter that has grown in valkey-bloom's layout reports 2.3 times its target rate.
        (Dialect::Bloom { cuckoo: false, .. }, Op::Miss) => (0.0, 0.04),
        (Dialect::Bloom { cuckoo: false, .. }, Op::Fresh) => (0.96, 1.0),
        (_, Op::Hit) => (1.0, 1.0),
        // Other items may have the same fingerprint, a few percent in RedisBloom's layout.
        (_, Op::Count) => (1.0, 1.1),
        (_, Op::Duplicate | Op::Refresh) => (0.0, 0.0),
        // The target rate is 1 %. Twice that is allowed, so that a random deviation does not stop a
        // run.
        (_, Op::Miss) => (0.0, 0.02),
        (_, Op::Fresh | Op::More | Op::Create | Op::NewestFills | Op::Delete) => (0.98, 1.0),
    }
}
