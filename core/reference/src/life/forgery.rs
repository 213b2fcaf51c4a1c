//! Changed bytes of a dump: they are refused, or give a filter that is consistent, can be loaded
//! again, and works.

use super::choices::Choices;
use super::filter::{Dump, Filter};
use crate::checks::accepted::accepted;
use crate::checks::check::MAX_OFFSET;
use crate::forged;

/// The filter of a forged dump of another one. `None` if it is refused.
pub fn forge(filter: &Filter, changes: u64, choices: &mut Choices) -> Option<Filter> {
    let mut dump = filter.dump();
    let is_recorded = filter.bloom().is_some() && choices.one_in(4);
    if is_recorded {
        dump = Dump { header: recorded(choices), chunks: Vec::new() };
    }
    let is_changed = !is_recorded || choices.one_in(2);
    for _ in 0..if is_changed { changes } else { 0 } {
        change(&mut dump.header, choices);
    }
    if filter.bloom().is_none() && choices.one_in(8) {
        fill_list(&mut dump.header, choices);
    }
    if choices.one_in(32) {
        dump.header.truncate(choices.below(dump.header.len() as u64 + 1) as usize);
    }
    let mut forged = accepted(|permit| filter.decode(&dump.header, permit))?;
    for (position, mut chunk) in dump.chunks {
        match choices.below(16) {
            0 => chunk.fill(0xff),
            // Slots that are equal are copies.
            1..=3 => {
                let from = choices.below(chunk.len() as u64 + 1) as usize;
                let len = choices.below((chunk.len() - from) as u64 + 1) as usize;
                let any = choices.any() as u8;
                chunk[from..from + len].fill(choices.of(&[0xff, 0x55, 0x11, any]));
            }
            4 => change(&mut chunk, choices),
            _ => {}
        }
        let before = forged.dump();
        let result = forged.load(position, &chunk);
        assert_eq!(result.unwrap_or(false), forged.dump() != before, "what LOADCHUNK says");
    }
    Some(forged)
}

/// Headers that fuzzers have found.
fn recorded(choices: &mut Choices) -> Vec<u8> {
    match choices.below(3) {
        0 => forged::most_items(),
        1 => {
            // Mostly near the end of all offsets.
            let (low, high) = (choices.below(1 << 20), MAX_OFFSET / 64 - choices.below(64));
            let blocks = choices.of(&[low, high, high]);
            forged::ring_at(blocks * 64)
        }
        _ => forged::overflowed_ring(),
    }
}

/// Gives the last entry of the lists of a cuckoo filter about the most copies.
fn fill_list(header: &mut [u8], choices: &mut Choices) {
    const MOST_COPIES: u64 = 1 << 58;
    if let Some(copies) = header.last_chunk_mut() {
        *copies = (MOST_COPIES - choices.below(4)).to_le_bytes();
    }
}

/// Gives one field any value, or one near that which it has.
fn change(bytes: &mut [u8], choices: &mut Choices) {
    if bytes.is_empty() {
        return;
    }
    let width = choices.of(&[1, 2, 4, 8, 8, 8]).min(bytes.len());
    let at = choices.below((bytes.len() / width) as u64) as usize * width;
    let mut number = [0; 8];
    number[..width].copy_from_slice(&bytes[at..at + width]);
    let old = u64::from_le_bytes(number);
    let new = match choices.below(9) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        2 => old.wrapping_mul(2),
        3 => old / 2,
        4 => choices.below(300),
        5 => (1u64 << choices.below(64)).wrapping_sub(choices.below(3)),
        6 => u64::MAX,
        // The most copies of a list, and the end of all offsets.
        7 => choices.of(&[1 << 58, 1 << 62]) - choices.of(&[0, 1, 64]),
        _ => choices.any(),
    };
    bytes[at..at + width].copy_from_slice(&new.to_le_bytes()[..width]);
}
