//! Windowed filters, while one allocation fails.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ptr::{self, NonNull};

use bloomline_core::bloom::window::{Generation, Window, WindowSpec, WindowedFilter};
use bloomline_core::chunk::Bits;
use bloomline_core::host::{AnyFilter, Filter, Growth};
use bloomline_core::memory::words::Mover;
use bloomline_reference::calls::Calls;

use super::{failing_after, granted, item, live_allocations, retried, until_success};

const TIME: Window = Window::Time { millis: 1_000 };

fn specs() -> [WindowSpec; 4] {
    let growth = Growth::Scaling { expansion: 1 };
    let spec = |capacity, window, refreshes| {
        let (error_rate, generations) = (0.001, 3);
        WindowSpec { capacity, error_rate, growth, window, generations, refreshes }
    };
    [
        spec(12, TIME, true),
        spec(12, Window::Last, true),
        spec(12, Window::Manual, false),
        // Layers whose pages are zeroed lazily.
        spec(3_000_000, Window::Manual, true),
    ]
}

fn new(spec: WindowSpec) -> WindowedFilter {
    WindowedFilter::new(spec, 7, 0, &mut granted).unwrap()
}

/// All that an operation might change: the header and the bits.
fn state(filter: &WindowedFilter) -> (Vec<u8>, Vec<Vec<u8>>) {
    // A few bytes of a large layer must do.
    let bits = filter.layers().map(|layer| layer.words().as_bytes());
    (filter.encode_header(), bits.map(|bits| bits[..bits.len().min(4096)].to_vec()).collect())
}

/// A filter that has rotated, with overflow layers in some generations. Every allocation failed
/// once. Returns it and the number of failures.
fn lived(spec: WindowSpec) -> (WindowedFilter, u64) {
    let (mut filter, mut failures) = (new(spec), 0);
    for step in 0..8u64 {
        let now = step * 500;
        failures += retried(&mut filter, state, |filter| filter.advance(now, &mut granted)).1;
        if spec.window == Window::Manual {
            failures += retried(&mut filter, state, |filter| filter.rotate(now, &mut granted)).1;
        }
        for number in (step * 5).saturating_sub(9)..step * 5 + 10 {
            let insert =
                |filter: &mut WindowedFilter| filter.insert(&item(number), 0, &mut granted);
            failures += retried(&mut filter, state, insert).1;
        }
    }
    (filter, failures)
}

#[test]
fn windowed_filter_is_unchanged_when_it_cannot_grow_or_rotate() {
    for spec in specs() {
        let (made, failures) = until_success(|| WindowedFilter::new(spec, 7, 0, &mut granted));
        assert!(made.is_empty() && failures > 0);
        let (filter, failures) = lived(spec);
        // A rotation allocates the bits and the table, or both in one allocation.
        let least = if spec.capacity < 100 { 1 } else { 2 };
        assert!(failures >= least * filter.number(), "{failures} failures, {filter:?}");
        let has_overflow = filter.layer_count() > filter.generations().count() as u32;
        let has_bursts = spec.window != Window::Last && spec.capacity < 100;
        assert!(has_overflow || !has_bursts, "{filter:?}");
        assert!(filter.first_byte() > 0, "{filter:?}");
    }
}

#[test]
fn failed_decoding_and_cloning_of_windowed_filters_leak_nothing() {
    for spec in specs() {
        let (mut filter, _) = lived(spec);
        drop(filter.take_dropped());
        let header = filter.encode_header();
        let (decoded, failures) =
            until_success(|| WindowedFilter::decode_header(&header, &mut granted));
        assert_eq!(decoded.encode_header(), header);
        let least = if filter.allocations().count() == 1 { 1 } else { filter.layer_count().into() };
        assert!(failures >= least);
        let (copy, failures) = until_success(|| filter.try_clone(&mut granted));
        assert!(state(&copy) == state(&filter) && failures >= least);
    }
}

#[test]
fn batches_without_memory_keep_what_they_acknowledged() {
    for spec in specs() {
        let (mut filter, mut failed) = (AnyFilter::from(new(spec)), 0);
        for call in 0..60u64 {
            let items: Vec<[u8; 8]> = (call * 10..call * 10 + 9).map(item).collect();
            let mut answers = Vec::with_capacity(items.len());
            failing_after(call % 4, || {
                let mut items = items.iter().map(|item| &item[..]);
                filter.insert_each(&mut items, 0, &mut granted, &mut |answer| answers.push(answer));
            });
            assert_eq!(answers.len(), items.len(), "each item has an answer");
            // The last items of a call are in the newest generations, whatever was dropped.
            for (item, answer) in items.iter().zip(&answers) {
                failed += u64::from(answer.is_err());
                assert!(
                    answer.is_err() || filter.contains_item(item, 0),
                    "call {call}: {answer:?}"
                );
            }
            if spec.window == Window::Manual && call % 4 == 3 {
                filter.windowed_mut().unwrap().rotate(0, &mut granted).unwrap();
            }
        }
        assert!(failed > 0 || spec.capacity > 100, "no allocation failed");
    }
}

#[test]
fn each_block_lists_every_allocation_of_a_windowed_filter() {
    for spec in specs() {
        let before = live_allocations();
        let mut filter = lived(spec).0;
        drop(filter.take_dropped());
        let filter = AnyFilter::from(filter);
        let live = live_allocations() - before;
        let mut blocks = Vec::with_capacity(100);
        filter.each_allocation(|block| blocks.push(block));
        assert_eq!(blocks.len() as i64, live, "{filter:?}");
        blocks.sort();
        blocks.dedup();
        assert_eq!(blocks.len() as i64, live, "a block is listed twice: {filter:?}");
        drop(blocks);
        drop(filter);
        assert_eq!(live_allocations(), before);
    }
}

/// Bytes of the structure of a large ring, which is not relocated.
const RING_BYTES: usize = 104;

/// The sizes of the filter's allocations, which must not be aligned to pages.
fn sizes(filter: &WindowedFilter) -> HashMap<NonNull<u8>, usize> {
    if filter.allocations().count() == 1 {
        // All but the filter itself, in one allocation.
        let size = filter.size_bytes() as usize - size_of::<AnyFilter>();
        return filter.allocations().zip([size]).collect();
    }
    let mut sizes = Vec::new();
    for (_, generation) in filter.generations() {
        let layers = generation.layer_count() as usize - 1;
        let mut bytes = generation.layers().map(|layer| layer.words().as_bytes().len());
        sizes.extend(bytes.next());
        if layers > 0 {
            sizes.push(size_of::<Filter>());
            sizes.extend(bytes);
        }
        if layers > 1 {
            sizes.push((layers - 1) * size_of::<bloomline_core::bloom::bloomline::BlockedLayer>());
        }
    }
    sizes.push((filter.generations().count() - 1) * size_of::<Generation>());
    sizes.push(RING_BYTES);
    assert_eq!(filter.allocations().count(), sizes.len());
    filter.allocations().zip(sizes).collect()
}

#[test]
fn relocated_windowed_filter_equals_the_original() {
    for spec in &specs()[..3] {
        let mut filter = lived(*spec).0;
        let (before, sizes) = (state(&filter), sizes(&filter));
        let mut moved = 0;
        let mut move_block = |from: NonNull<u8>| {
            let layout = Layout::from_size_align(sizes[&from], 8).unwrap();
            moved += 1;
            // SAFETY: the filter allocated `from` with this layout. The new allocation has the same
            // size and content.
            unsafe {
                let to = alloc(layout);
                ptr::copy_nonoverlapping(from.as_ptr(), to, layout.size());
                ptr::write_bytes(from.as_ptr(), 0xaa, layout.size());
                dealloc(from.as_ptr(), layout);
                NonNull::new(to)
            }
        };
        // SAFETY: see above.
        let mut mover = unsafe { Mover::new(&mut move_block) };
        // In several steps, as hosts do.
        let (mut from, mut steps) = (Some(0), 0);
        while let Some(index) = from {
            let mut budget = 3;
            from = filter.relocate(index, &mut mover, || {
                budget -= 1;
                budget < 0
            });
            steps += 1;
        }
        let is_small = sizes.len() == 1;
        assert!((steps > 1 || is_small) && state(&filter) == before);
        // All but the structures of the ring and of the overflow layers.
        let overflowing = filter.generations().filter(|(_, it)| it.layer_count() > 1).count();
        assert_eq!(moved + usize::from(!is_small), sizes.len() - overflowing);
        for number in 100..200 {
            filter.insert(&item(number), 0, &mut granted).unwrap();
            filter.rotate(number, &mut granted).unwrap();
        }
    }
}
