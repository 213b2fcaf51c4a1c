//! Filters whose blocks are moved, as an active defragmentation does.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ptr::{self, NonNull};

use bloomline_core::bloom::window::{Generation, WindowedFilter};
use bloomline_core::host;
use bloomline_core::memory::words::Mover;
use bloomline_reference::life::filter::Filter;

use super::kinds::KINDS;
use super::{granted, item};

/// Bytes of the structure of a large ring.
const RING_BYTES: usize = 176;

/// The sizes of the filter's allocations, which must not be aligned to pages.
fn sizes(filter: &WindowedFilter) -> HashMap<NonNull<u8>, usize> {
    if filter.allocations().count() == 1 {
        return filter.allocations().zip([filter.size_bytes() as usize]).collect();
    }
    let mut sizes = Vec::new();
    for (_, generation) in filter.generations() {
        let layers = generation.layer_count() as usize - 1;
        let mut bytes = generation.layers().map(|layer| layer.words().as_bytes().len());
        sizes.extend(bytes.next());
        if layers > 0 {
            sizes.push(size_of::<host::Filter>());
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
    for kind in KINDS {
        let (mut filled, _) = kind.filled();
        let before = filled.dump();
        let Some(filter) = filled.windowed().filter(|filter| filter.spec().capacity < 100) else {
            continue;
        };
        let sizes = sizes(filter);
        let overflowing = filter.generations().filter(|(_, it)| it.layer_count() > 1).count();
        let Filter::Bloom(filter) = &mut filled else { continue };
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
        assert!(steps > 1 || is_small);
        // All but the structures of the overflow layers.
        assert_eq!(moved, sizes.len() - overflowing);
        assert!(filled.dump() == before, "{}", kind.name);
        let filter = filled.windowed_mut().expect("it is windowed");
        for number in 100..200 {
            filter.insert(&item(number), 0, &mut granted).unwrap();
            filter.rotate(number, &mut granted).unwrap();
        }
    }
}

/// The ledger of the audit knows no block from elsewhere.
#[test]
#[cfg(all(target_os = "linux", not(miri), not(feature = "audit")))]
fn relocated_cuckoo_filters_equal_the_original() {
    use crate::kinds::blocks;

    for kind in KINDS {
        let (filled, _) = kind.filled();
        let blocks = blocks(&filled);
        let Filter::Cuckoo(mut filter) = filled else { continue };
        let before = filter.try_clone(&mut granted).expect("a copy");
        let mut moved = 0;
        let mut move_block = |from: NonNull<u8>| {
            moved += 1;
            // SAFETY: the system's allocator allocated and frees all blocks with `malloc` and
            // `free`, since none is aligned to more than 16 bytes. The copy has all of its bytes.
            unsafe {
                let size = libc::malloc_usable_size(from.as_ptr().cast());
                let to = NonNull::new(libc::malloc(size).cast::<u8>());
                let to = to.expect("memory");
                to.copy_from_nonoverlapping(from, size);
                from.write_bytes(0xaa, size);
                libc::free(from.as_ptr().cast());
                Some(to)
            }
        };
        // SAFETY: see above.
        let mut mover = unsafe { Mover::new(&mut move_block) };
        // In several steps, as hosts do.
        let (mut from, mut steps) = (Some(0), 0);
        while let Some(index) = from {
            let mut budget = 2;
            from = filter.relocate(index, &mut mover, || {
                budget -= 1;
                budget < 0
            });
            steps += 1;
        }
        assert!((steps > 1 || blocks < 6) && filter == before);
        assert_eq!(moved, blocks);
        for number in 300..400 {
            filter.insert(&item(number), &mut granted).expect("memory");
        }
        filter.compact().expect("memory");
        let present = (0..kind.items).chain(300..400);
        assert!(present.into_iter().all(|number| filter.contains(&item(number))));
    }
}
