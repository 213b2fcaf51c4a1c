//! Headers of windowed filters.

use bloomline_core::bloom::bloomline::sizing::REVISION;
use bloomline_core::bloom::window::{MAX_WINDOW_MILLIS, WindowedFilter};
use bloomline_core::error::HeaderError::{
    self, Generations, Layers, Length, Magic, Offset, Reserved, Version, Window,
};
use bloomline_core::{Error, Layout};
use bloomline_reference::checks::header::{Generation, Header, Windowed};

use super::bloomline::common;
use super::{Table, changed, row};

const TIME: u8 = 1;
const LAST: u8 = 2;
const MANUAL: u8 = 3;

/// The end of all offsets and of all times.
const END: u64 = 1 << 62;

/// The offset of a field of a generation, which has 32 bytes.
const fn at(generation: usize, field: usize) -> usize {
    80 + 32 * generation + field
}

/// Five generations of 20 items, with overflow layers in the fourth. Three were dropped.
fn windowed() -> Windowed {
    let generation =
        |index: u64| Generation { opened: 1_000 * index, len: 15, live: 15, overflow: 0 };
    let mut ring: Vec<Generation> = (1..6).map(generation).collect();
    ring[3].overflow = 2;
    Windowed {
        version: 2,
        revision: REVISION,
        growth: 1,
        window: TIME,
        refreshes: 1,
        generations: 4,
        expansion: 2,
        present: 5,
        capacity: 80,
        error_rate: 0.01,
        seed: 7,
        millis: 10_000,
        number: 7,
        dropped_bytes: 3 * 192,
        clock: 5_500,
        ring,
    }
}

fn encoded(change: impl FnOnce(&mut Windowed)) -> Vec<u8> {
    let mut header = windowed();
    change(&mut header);
    Header::from(header).encode()
}

/// A window of items, the first of whose generations has an item that is not live.
fn with_dead_item(refreshes: u8) -> Vec<u8> {
    encoded(|it| {
        (it.window, it.millis, it.refreshes) = (LAST, 0, refreshes);
        it.ring[3].overflow = 0;
        it.ring[0].live -= 1;
    })
}

pub(super) fn table() -> Table {
    let valid = encoded(|_| {});
    let last = encoded(|it| (it.window, it.millis) = (LAST, 0));
    let manual = encoded(|it| (it.window, it.millis, it.clock) = (MANUAL, 0, 0));
    let fixed = encoded(|it| {
        (it.growth, it.expansion, it.ring[3].overflow) = (0, 0, 0);
    });
    let counted_once = changed(&with_dead_item(0), at(0, 16), &15u64);
    let generation = |index| Error::from(HeaderError::Generation(index));
    Table {
        layout: Layout::Bloomline,
        is_cuckoo: false,
        invalid: [
            common(&valid),
            vec![
                row(&valid, 0, b'B', Magic),
                row(&valid, 8, 1u16, Version(1)),
                row(&valid, 8, 3u16, Version(3)),
                row(&valid, 13, 4u8, Window(4)),
                // Other windows have no time.
                row(&valid, 13, LAST, Error::Window(10_000)),
                row(&valid, 13, MANUAL, Error::Window(10_000)),
                row(&valid, 14, 2u8, Reserved),
                row(&valid, 15, 1u8, Error::Generations(1)),
                row(&valid, 15, 65u8, Error::Generations(65)),
                row(&valid, 15, 3u8, Generations(5)),
                row(&valid, 20, 0u32, Generations(0)),
                row(&valid, 20, 6u32, Generations(6)),
                // The third generation is no padding.
                row(&valid, 20, 4u32, Reserved),
                row(&valid, 20, 2u32, Length(valid.len())),
                row(&valid, 24, 3u64, Error::TooFewItems { capacity: 3, generations: 4 }),
                row(&valid, 48, 0u64, Error::Window(0)),
                row(&manual, 72, 1u8, Reserved),
                row(&valid, 48, MAX_WINDOW_MILLIS + 1, Error::Window(MAX_WINDOW_MILLIS + 1)),
                // Fewer rotations than generations.
                row(&valid, 56, 3u64, Generations(5)),
                // Each dropped generation had at least a sector.
                row(&valid, 56, u64::MAX, Offset(576)),
                row(&valid, 56, 4 + 576u64 / 8 + 1, Offset(576)),
                row(&valid, 64, 0u64, Offset(0)),
                row(&valid, 64, 580u64, Offset(580)),
                row(&valid, 64, END, Offset(END)),
                row(&valid, 64, u64::MAX - 7, Offset(u64::MAX - 7)),
                // Opened before the one before it, or at the end of time.
                row(&valid, at(2, 0), 1_999u64, generation(2)),
                row(&valid, at(4, 0), END + 1, generation(4)),
                // More items than the newest layer has room for.
                row(&valid, at(0, 8), 21u64, generation(0)),
                row(&valid, at(3, 8), u64::MAX, generation(3)),
                // More live items than items.
                row(&valid, at(0, 16), 16u64, generation(0)),
                row(&valid, at(3, 16), u64::MAX, generation(3)),
                row(&valid, at(0, 24), 65u32, Layers(65)),
                row(&valid, at(0, 28), 1u8, Reserved),
                row(&valid, at(5, 0) + 1, 200u8, Reserved),
                // Overflow layers without growth.
                row(&fixed, at(0, 24), 1u32, Layers(1)),
                row(&counted_once, at(0, 24), 1u32, Layers(1)),
                // What nothing writes again is live.
                (with_dead_item(0), generation(0)),
            ],
        ]
        .concat(),
        huge: vec![encoded(|it| (it.capacity, it.dropped_bytes) = (1 << 40, 1 << 50))],
        valid: vec![
            last,
            manual,
            fixed,
            counted_once,
            with_dead_item(1),
            encoded(|it| (it.refreshes, it.ring[0].live) = (0, 14)),
            encoded(|it| {
                it.ring.truncate(1);
                (it.present, it.number) = (1, 3);
            }),
            valid,
        ],
    }
}

#[test]
fn the_end_of_all_offsets_stops_rotations_but_not_saving() {
    let mut header = encoded(|_| {});
    let filter = WindowedFilter::decode_header(&header, &mut |_| true).expect("valid");
    let bits = filter.layers().map(|layer| layer.words().bytes()).sum::<u64>();
    header = changed(&header, 64, &(END - bits));
    let mut filter = WindowedFilter::decode_header(&header, &mut |_| true).expect("valid");
    for _ in 0..3 {
        assert!(matches!(filter.advance(1_000_000, &mut |_| true), Err(Error::Refused(_))));
        assert!(matches!(filter.rotate(1_000_000, &mut |_| true), Err(Error::Refused(_))));
        assert_eq!(filter.encode_header(), header);
    }
}
