//! The sizing rule: its frozen table, its rates and ranges, and 10,000 pinned results.

use bloomline_core::Error;
use bloomline_core::bloom::bloomline::geometry::{Geometry, PAGE_BLOCKS};
use bloomline_core::bloom::bloomline::rate::{fp_rate, fp_rate_at_counted_load, fp_rate_at_load};
use bloomline_core::bloom::bloomline::sizing::{
    MAX_CAPACITY, MAX_ERROR_RATE, MIN_LAYER_ERROR, REVISION, ROWS, Row,
};
use bloomline_core::bloom::small::{SmallFilter, planned_bytes};
use bloomline_core::host::{AnyFilter, Growth, Spec};
use bloomline_reference::calls::Calls;
use bloomline_reference::forged::with_layers;
use xxhash_rust::xxh3::Xxh3;

use crate::filters::{fixed, scaling};

/// Bits per item of the classic filter, divided by `log2(1 / error)`: 1 / ln 2.
const CLASSIC: f64 = std::f64::consts::LOG2_E;
/// The largest number of bits per item, relative to the classic optimum, of a row with fewer than
/// four blocks per item.
const TOLERANCE: f64 = 1.029;
const BLOCK_BITS: f64 = 512.0;
/// Number of blocks from which a layer has whole pages only.
const WHOLE_PAGES_FROM: u64 = 16_384;

/// The five target rates of a row, the smallest first.
fn knots(row: usize) -> [f64; 5] {
    let octave = (-3.0 - (row / 2) as f64).exp2();
    let low = if row.is_multiple_of(2) { 1.5 } else { 1.0 };
    [0.0, 0.125, 0.25, 0.375, 0.5].map(|step| octave * (low + step))
}

/// The rate of infinitely many pages, from blocks per page, blocks per item, bits per block and
/// load.
type Model = fn(u64, u8, u8, f64) -> f64;

/// The smallest number of bits per item for which the rate is at most `error`.
fn bits_needed(model: Model, blocks: u8, bits_per_block: u8, error: f64) -> f64 {
    // At a load of 1e-9 items per block the rate is below those of the table; 512 items set nearly
    // every bit.
    let (mut fits, mut exceeds) = (1e-9, 512.0);
    for _ in 0..100 {
        let load = (fits + exceeds) / 2.0;
        let rate = model(PAGE_BLOCKS, blocks, bits_per_block, load);
        *(if rate <= error { &mut fits } else { &mut exceeds }) = load;
    }
    BLOCK_BITS * f64::from(blocks) / fits
}

/// Bits per item relative to the classic optimum, at the worst knot of a row.
fn worst_overhead(row: usize, blocks: u8, bits_per_block: u8) -> f64 {
    let overhead = |error: f64| {
        bits_needed(fp_rate_at_load, blocks, bits_per_block, error)
            / (CLASSIC * (1.0 / error).log2())
    };
    knots(row).map(overhead).into_iter().fold(0.0, f64::max)
}

/// The row that the formula gives: blocks per item, bits per block, and thousandths of a bit per
/// item at each knot.
fn computed_row(index: usize) -> (u8, u8, [u32; 5]) {
    let best_of = |blocks| {
        let overheads = (1..=8).map(|bits| (worst_overhead(index, blocks, bits), bits));
        overheads.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
    };
    let blocks = (1..4).find(|&blocks| best_of(blocks).0 <= TOLERANCE).unwrap_or(4);
    let bits_per_block = best_of(blocks).1;
    let bits = |error| bits_needed(fp_rate_at_counted_load, blocks, bits_per_block, error);
    (blocks, bits_per_block, knots(index).map(|error| (bits(error) * 1e3).ceil() as u32))
}

/// Prints the rows of `table.rs` with `--nocapture`: the way to a table for another formula.
#[test]
fn frozen_table_equals_the_computed_one() {
    let mut wrong = Vec::new();
    for (index, frozen) in ROWS.iter().enumerate() {
        let computed = computed_row(index);
        let (blocks, bits_per_block, milli_bits) = computed;
        let [low, .., high] = knots(index);
        println!("    row({blocks}, {bits_per_block}, {milli_bits:?}), // {low:.3e} to {high:.3e}");
        if computed != (frozen.blocks_per_item, frozen.bits_per_block, frozen.milli_bits) {
            wrong.push(index);
        }
    }
    assert!(wrong.is_empty(), "rows {wrong:?} differ from what the formula gives");
}

#[test]
fn knots_have_the_bits_of_the_table_which_fall_monotonically() {
    for (index, row) in ROWS.iter().enumerate() {
        // The last knot is the first one of the row above.
        for (error, milli_bits) in knots(index).into_iter().zip(row.milli_bits).take(4) {
            assert_eq!(Row::of(error).milli_bits, row.milli_bits, "row of {error:e}");
            assert_eq!(row.bits_per_item(error), f64::from(milli_bits) / 1e3, "bits at {error:e}");
        }
        assert!(row.milli_bits.is_sorted_by(|smaller, larger| smaller > larger), "row {index}");
    }
    assert_eq!(Row::of(0.25).bits_per_item(0.25), f64::from(ROWS[0].milli_bits[4]) / 1e3);
}

/// A hundred target rates from 0.25 down to 1e-15, computed by multiplication alone, so that they
/// are the same on every machine.
fn error_rates() -> Vec<f64> {
    let mut rates: Vec<f64> =
        std::iter::successors(Some(MAX_ERROR_RATE), |e| Some(e * 0.716)).take(99).collect();
    rates.push(MIN_LAYER_ERROR);
    rates
}

/// A hundred capacities from 1 to 2^40.
fn capacities() -> Vec<u64> {
    let mut capacities: Vec<u64> =
        std::iter::successors(Some(1), |n| Some(n + n * 313 / 1000 + 1)).take(99).collect();
    capacities.push(MAX_CAPACITY);
    capacities
}

fn sweep() -> impl Iterator<Item = (u64, f64)> {
    error_rates()
        .into_iter()
        .flat_map(|error| capacities().into_iter().map(move |capacity| (capacity, error)))
}

#[test]
fn ten_thousand_sizings_are_unchanged() {
    let mut hash = Xxh3::new();
    let mut sizings = 0;
    for (capacity, error) in sweep() {
        sizings += 1;
        hash.update(&capacity.to_le_bytes());
        hash.update(&error.to_le_bytes());
        for geometry in [Geometry::first(capacity, error), Geometry::new(capacity, error)] {
            match geometry {
                Ok(geometry) => {
                    hash.update(&geometry.pages().to_le_bytes());
                    hash.update(&[geometry.blocks_per_page() as u8]);
                    hash.update(&[geometry.blocks_per_item(), geometry.bits_per_block()]);
                    hash.update(&[geometry.sectors()]);
                }
                Err(Error::ErrorRateTooSmall(_)) => hash.update(b"too small"),
                Err(other) => panic!("{capacity} items at {error:e}: {other}"),
            }
        }
    }
    assert_eq!(sizings, 10_000);
    assert_eq!(
        (REVISION, hash.digest()),
        (3, PINNED),
        "sizes changed, but replicas and saved filters rely on them: add a new revision"
    );
}

/// The hash of the results in [`ten_thousand_sizings_are_unchanged`], for revision 3.
const PINNED: u64 = 9_348_883_353_207_402_540;

#[test]
fn layers_of_growing_filters_are_unchanged() {
    // The target rate of a layer depends on the last bit of the computed rates of all layers before
    // it.
    let mut hash = Xxh3::new();
    let mut layers = 0;
    for error_rate in [0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10] {
        for (capacity, expansion, count) in
            [(1, 2, 20), (100, 2, 14), (1_000, 1, 60), (7, 3, 11), (50_000, 4, 4)]
        {
            let spec = Spec { capacity, error_rate, growth: Growth::Scaling { expansion } };
            let filter = with_layers(spec, count, &mut |_| true).unwrap();
            for (layer, error) in filter.layers().zip(filter.layer_errors()) {
                layers += 1;
                hash.update(&error.to_bits().to_le_bytes());
                hash.update(&layer.geometry().bytes().to_le_bytes());
                hash.update(&layer.geometry().hashes().to_le_bytes());
                hash.update(&layer.fp_rate(layer.capacity()).to_bits().to_le_bytes());
            }
        }
    }
    assert_eq!(
        (REVISION, layers, hash.digest()),
        (3, 1_090, PINNED_GROWTH),
        "layers changed, but replicas and saved filters rely on them: add a new revision"
    );
}

/// The hash of the results in [`layers_of_growing_filters_are_unchanged`], for revision 3.
const PINNED_GROWTH: u64 = 5_990_458_048_761_231_758;

/// The numbers of the rows of a table of a page.
fn rows_after(page: &str, head: &str) -> Vec<Vec<f64>> {
    let (_, table) = page.split_once(head).unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let numbers = row.replace(['×'], "|").replace(", ", "|").replace(',', "");
        numbers.split('|').filter_map(|number| number.trim().parse().ok()).collect()
    })
    .collect()
}

#[test]
fn examples_of_the_format_description_are_right() {
    let page = include_str!("../../../../docs/format.md");
    let head = "| c | e | blocks by step 3 | pages × blocks | L, g |\n|---|---|---|---|---|\n";
    let rows = rows_after(page, head);
    assert_eq!(rows.len(), 8);
    for row in rows {
        let [capacity, error, estimate, rest @ ..] = &row[..] else { panic!("{row:?}") };
        let bits = capacity * Row::of(*error).bits_per_item(*error);
        let geometry = Geometry::new(*capacity as u64, *error).unwrap();
        assert_eq!((bits / BLOCK_BITS).ceil(), *estimate, "{row:?}");
        let (pages, page_blocks) = (geometry.pages() as f64, geometry.blocks_per_page() as f64);
        let (blocks_per_item, bits_per_block) =
            (geometry.blocks_per_item(), geometry.bits_per_block());
        assert_eq!(
            [pages, page_blocks, blocks_per_item.into(), bits_per_block.into()],
            rest,
            "{row:?}"
        );
        assert!(!geometry.is_small(), "{row:?}");
        assert_eq!(Geometry::first(*capacity as u64, *error), Ok(geometry), "{row:?}");
    }
    // The numbers before the last column, which says what any other layer has.
    let head =
        "| c | e | blocks by step 5 | s | g | any other layer |\n|---|---|---|---|---|---|\n";
    let mut forms = 0;
    for (form, count) in [("the same", 3), ("blocks", 3)] {
        let of_form = page.lines().filter(|line| line.ends_with(&format!("| {form} |")));
        let table = format!("{head}{}", of_form.collect::<Vec<_>>().join("\n"));
        assert_eq!(rows_after(&table, head).len(), count, "{form}");
        for row in rows_after(&table, head) {
            let &[capacity, error, blocks, sectors, bits] = &row[..] else { panic!("{row:?}") };
            let first = Geometry::first(capacity as u64, error).unwrap();
            assert!(first.is_small(), "{row:?}");
            let numbers = [first.sectors(), first.bits_per_block()].map(f64::from);
            assert_eq!(numbers, [sectors, bits], "{row:?}");
            let other = Geometry::new(capacity as u64, error).unwrap();
            match form {
                "blocks" => assert_eq!(other.blocks() as f64, blocks, "{row:?}"),
                _ => assert_eq!(other, first, "{row:?}"),
            }
            assert_eq!(other.is_small(), sectors <= 7.0 * blocks, "{row:?}");
            forms += 1;
        }
    }
    assert_eq!(rows_after(page, head).len(), forms);
}

#[test]
fn full_layers_have_at_most_the_target_rate() {
    for (capacity, error) in sweep() {
        for geometry in [Geometry::first(capacity, error), Geometry::new(capacity, error)] {
            let Ok(geometry) = geometry else { continue };
            let rate = fp_rate(&geometry, capacity);
            assert!(rate <= error, "{capacity} items at {error:e}: {rate:e}, {geometry:?}");
        }
    }
}

/// The next smaller geometry that the rule gives for this target rate, with the largest capacity
/// for which it gives it.
fn one_step_smaller(geometry: &Geometry, capacity: u64, error: f64) -> Option<(u64, Geometry)> {
    let at = |capacity| Geometry::new(capacity, error).unwrap();
    let (mut below, mut reached) = (1, capacity);
    if at(below).bytes() >= geometry.bytes() {
        return None;
    }
    while reached - below > 1 {
        let middle = below.midpoint(reached);
        *(if at(middle).bytes() < geometry.bytes() { &mut below } else { &mut reached }) = middle;
    }
    Some((below, at(below)))
}

#[test]
fn layers_are_at_most_a_block_per_page_larger_than_needed() {
    let (mut layers, mut larger) = (0, 0);
    for (capacity, error) in sweep() {
        let Ok(geometry) = Geometry::new(capacity, error) else { continue };
        if geometry.blocks() >= WHOLE_PAGES_FROM || error < 1e-6 {
            continue;
        }
        // The table assumes infinitely many pages. The rule does not reduce its estimate if a small
        // layer needs less.
        let (mut least, mut least_capacity) = (geometry, capacity);
        while let Some((capacity_below, smaller)) = one_step_smaller(&least, least_capacity, error)
        {
            if fp_rate(&smaller, capacity) > error {
                break;
            }
            (least, least_capacity) = (smaller, capacity_below);
        }
        layers += 1;
        larger += u32::from(least.bytes() < geometry.bytes());
        let spare = geometry.bytes() - least.bytes();
        assert!(
            spare <= geometry.pages() * 64,
            "{capacity} items at {error:e}: {geometry:?}, {least:?} would suffice"
        );
    }
    assert!(layers > 1_000, "only {layers} layers were tested");
    assert!(larger * 10 <= layers, "{larger} of {layers} layers have more than they need");
}

#[test]
fn pages_have_33_to_64_blocks_and_64_in_large_layers() {
    for (capacity, error) in sweep() {
        let Ok(geometry) = Geometry::new(capacity, error) else { continue };
        let (pages, blocks_per_page) = (geometry.pages(), geometry.blocks_per_page());
        assert!((1..=PAGE_BLOCKS).contains(&blocks_per_page), "{geometry:?}");
        assert!(pages == 1 || blocks_per_page >= 33, "{geometry:?}");
        assert!(
            geometry.blocks() < WHOLE_PAGES_FROM || blocks_per_page == PAGE_BLOCKS,
            "{geometry:?}"
        );
        assert_eq!(geometry.blocks(), pages * blocks_per_page);
        let block_bytes = u64::from(geometry.sectors()) * 8;
        assert_eq!(geometry.bytes(), geometry.blocks() * block_bytes);
        assert_eq!(geometry.bits(), geometry.bytes() * 8);
    }
}

#[test]
fn items_have_one_to_four_blocks_within_their_page() {
    for (capacity, error) in sweep() {
        let Ok(geometry) = Geometry::new(capacity, error) else { continue };
        let blocks = u64::from(geometry.blocks_per_item());
        assert!(
            (1..=4).contains(&blocks) && (1..=8).contains(&geometry.bits_per_block()),
            "{geometry:?}"
        );
        assert!(blocks <= geometry.blocks_per_page(), "{geometry:?}");
        assert_eq!(u64::from(geometry.hashes()), blocks * u64::from(geometry.bits_per_block()));
        let farthest = geometry.strides() * (blocks - 1);
        assert!(blocks == 1 || (1..geometry.blocks_per_page()).contains(&farthest), "{geometry:?}");
    }
}

#[test]
fn sizes_grow_monotonically_with_the_capacity() {
    for error in error_rates() {
        let bytes =
            |capacity| Geometry::new(capacity, error).map_or(u64::MAX, |geometry| geometry.bytes());
        let sizes: Vec<u64> = capacities().into_iter().map(bytes).collect();
        assert!(sizes.is_sorted(), "{error:e}: {sizes:?}");
    }
}

/// A size of small layers: by so much a filter may take less than one that needs less.
const SIZE_CLASS: u64 = 16;

/// Bytes of a filter of one layer with one item, with half of its capacity, and full.
fn sizes(spec: Spec) -> [u64; 3] {
    let layer = spec.layers().next().unwrap().unwrap();
    let bits = planned_bytes(layer.bytes(), 1, layer.shape());
    [1, spec.capacity.div_ceil(2), spec.capacity]
        .map(|items| SmallFilter::listed_bytes(layer.shape(), items).unwrap_or(bits))
}

/// Round rates, and a hundred and fifty others down to the smallest.
fn rates_of_filters() -> impl Iterator<Item = f64> {
    let round = [0.25, 0.1, 0.05, 0.02, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-8, 1e-9];
    let odd = std::iter::successors(Some(0.237), |e| Some(e * 0.81)).take(153);
    round.into_iter().chain(odd).inspect(|error| assert!(*error > 2e-15))
}

/// Calls `check` with all capacities up to the first ones that have no small layer at any rate.
fn each_small_capacity(mut check: impl FnMut(u64)) {
    (1..700).chain((700..1_200).step_by(7)).for_each(&mut check);
}

#[test]
fn filters_take_no_less_than_those_of_a_smaller_capacity() {
    for error in rates_of_filters() {
        for spec in [fixed(1, error), scaling(1, error, 2)] {
            let mut most = [0; 3];
            each_small_capacity(|capacity| {
                let sizes = sizes(Spec { capacity, ..spec });
                for (size, most) in sizes.into_iter().zip(&mut most) {
                    assert!(size + SIZE_CLASS >= *most, "{sizes:?} of {capacity}, {spec:?}");
                    *most = size.max(*most);
                }
            });
        }
    }
}

/// With the layer that is not the first one, it would have this layer and 96 bytes besides.
#[test]
fn small_first_layers_make_no_filter_larger() {
    let mut smaller = 0;
    for error in rates_of_filters() {
        each_small_capacity(|capacity| {
            let [.., full] = sizes(fixed(capacity, error));
            let other = Geometry::new(capacity, error).unwrap().bytes() + 96;
            assert!(full <= other, "{capacity} at {error:e}: {full}, {other}");
            smaller += u32::from(full < other);
        });
    }
    assert!(smaller > 1_000, "only {smaller} filters are smaller");
}

#[test]
fn filters_that_do_not_grow_take_no_more_than_others() {
    for error in rates_of_filters() {
        each_small_capacity(|capacity| {
            let growing = sizes(scaling(capacity, error, 2));
            for (size, other) in sizes(fixed(capacity, error)).into_iter().zip(growing) {
                assert!(size <= other + SIZE_CLASS, "{capacity} at {error:e}: {size}, {other}");
            }
        });
    }
}

#[test]
fn filters_that_do_not_grow_save_what_the_page_says() {
    let saving = |capacity, error| {
        let [[.., fixed], [.., growing]] =
            [fixed(capacity, error), scaling(capacity, error, 2)].map(sizes);
        1.0 - fixed as f64 / growing as f64
    };
    let percent = |error| (saving(1_000_000, error) * 100.0).round();
    let page = include_str!("../../../../docs/how-to/choosing.md");
    let text = format!(
        "Saves {} % at an error rate of 0.01 % and {} % at 1 %. Small",
        percent(1e-4),
        percent(0.01)
    );
    assert!(page.contains(&text), "the page does not say: {text}");
    let [least, most] = [f64::min, f64::max]
        .map(|of| (1..1_000).map(|capacity| saving(capacity, 0.1)).reduce(of).unwrap());
    assert!(least == 0.0 && (0.32..0.34).contains(&most), "{least} to {most}");
}

/// The forms of the sweeps above are those that filters have.
#[test]
fn filters_take_the_sizes_of_their_plans() {
    for error in [0.25, 0.01, 1e-4, 1e-6, 1e-9] {
        for capacity in [1, 4, 12, 21, 39, 40, 130, 300, 600] {
            for spec in [fixed(capacity, error), scaling(capacity, error, 2)] {
                let mut filter = AnyFilter::bloomline(spec, 7, &mut |_| true).unwrap();
                let mut items = 0u64..;
                for (size, len) in sizes(spec).into_iter().zip([1, capacity.div_ceil(2), capacity])
                {
                    while filter.len() < len {
                        let item = items.next().unwrap().to_le_bytes();
                        filter.insert_item(&item, 0, &mut |_| true).unwrap();
                    }
                    assert_eq!((filter.size_bytes(), filter.layer_count()), (size, 1), "{spec:?}");
                }
            }
        }
    }
}

#[test]
fn capacities_out_of_range_are_refused() {
    for capacity in [0, MAX_CAPACITY + 1, u64::MAX] {
        assert_eq!(Geometry::new(capacity, 0.01), Err(Error::Capacity(capacity)));
    }
    assert!(Geometry::new(1, 0.01).is_ok() && Geometry::new(MAX_CAPACITY, 0.01).is_ok());
}

#[test]
fn target_rates_out_of_range_are_refused() {
    for error in
        [0.0, -0.0, -0.01, 0.250_000_1, 0.25_f64.next_up(), 1.0, f64::INFINITY, f64::NEG_INFINITY]
    {
        assert_eq!(Geometry::new(100, error), Err(Error::ErrorRate(error)));
    }
    assert!(matches!(Geometry::new(100, f64::NAN), Err(Error::ErrorRate(error)) if error.is_nan()));
}

#[test]
fn layer_target_rates_below_1e_15_are_refused() {
    for error in [1e-16, 9.9e-16, 1e-15_f64.next_down(), 1e-300, f64::MIN_POSITIVE, 5e-324] {
        assert_eq!(Geometry::new(100, error), Err(Error::ErrorRateTooSmall(error)));
    }
    assert!(Geometry::new(100, 1e-15).is_ok());
}

#[test]
fn target_rates_below_the_collision_rate_are_refused() {
    // One of 2^40 items has the same 64-bit hash as an absent item with probability 2^-24.
    let collisions = (-24.0_f64).exp2();
    for error in [1e-15, collisions / 2.0, collisions] {
        assert_eq!(Geometry::new(MAX_CAPACITY, error), Err(Error::ErrorRateTooSmall(error)));
    }
    assert!(Geometry::new(MAX_CAPACITY, collisions * 2.0).is_ok());
}
