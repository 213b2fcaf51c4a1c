//! What must hold for every filter, wherever its bytes came from.

use crate::calls::Calls;
use bloomline_core::Error;
use bloomline_core::bloom::small::SmallFilter;
use bloomline_core::bloom::window::{GenerationRef, Window, WindowSpec, WindowedFilter};
use bloomline_core::chunk::Bits;
use bloomline_core::host::valkey::MAX_CAPACITY;
use bloomline_core::host::{AnyFilter, AnyRef, Demand, Insertion};

use super::encodings::{assert_carried, demand_of};

/// The most bytes of bits of a windowed filter, over its life.
pub const MAX_OFFSET: u64 = 1 << 62;

/// The largest filter in bytes, so that an input takes little time; still less under Miri.
pub const LIMIT: u64 = if cfg!(miri) { 4 << 10 } else { 64 << 10 };

/// The most items that are inserted until a filter grows.
const MOST_INSERTED: u64 = if cfg!(miri) { 100 } else { 60_000 };

/// Items of one call of many.
const BATCH: usize = 500;

/// A permit for filters up to [`LIMIT`].
pub fn small(demand: Demand) -> bool {
    demand.filter_bytes <= LIMIT
}

/// The bits of each layer, oldest first, also of a list.
pub fn bits(filter: &AnyFilter) -> Vec<Vec<u8>> {
    let mut bits = Vec::new();
    if let AnyRef::Small(filter) = filter.view()
        && filter.is_listed()
    {
        filter.with_layer(|layer| bits.push(layer.words().as_bytes().to_vec()));
    }
    filter.each_layer(|words| bits.push(words.as_bytes().to_vec()));
    bits
}

/// Calls every method that reads a filter, and compares the results with each other.
pub fn assert_consistent(filter: &AnyFilter) {
    let (mut layers, mut bytes) = (0, 0);
    filter.each_layer(|words| {
        layers += 1;
        bytes += words.bytes();
        assert!((0.0..=1.0).contains(&words.fill(4096)));
    });
    assert_eq!(layers, if filter.is_listed() { 0 } else { filter.layer_count() });
    assert!(filter.size_bytes() >= bytes && filter.size_bytes() <= LIMIT);
    // A refreshed item does not count if no item of its former generation counts.
    assert!(filter.newest_len() <= filter.len() || filter.windowed().is_some());
    match filter.added_since(filter.layer_count(), filter.newest_len()) {
        Some(added) => {
            assert_eq!((added.items, added.layers, added.capacity, added.bytes), (0, 0, 0, 0));
        }
        None => assert!(filter.windowed().is_some(), "only a windowed filter loses items"),
    }
    assert_eq!(filter.fills().len() as u32, filter.layer_count());
    // Miri gives powers of floating-point numbers a random error of some units in the last place.
    let largest = if cfg!(miri) { 1.0 + 1e-12 } else { 1.0 };
    assert!(filter.fp_rates().iter().all(|rate| (0.0..=largest).contains(rate)));
    let mut allocations = 0;
    filter.each_allocation(|_| allocations += 1);
    // A filter with a small ring is one allocation.
    assert!(allocations >= layers.max(1) || filter.windowed().is_some() && allocations == 1);
    let _ =
        (filter.capacity(), filter.room(), filter.growth(), filter.error_rate(), filter.layout());
    match filter.view() {
        AnyRef::Bloomline(filter) => {
            assert!(filter.newest_len() <= filter.capacity());
            assert!((0.0..=1.0).contains(&filter.fp_rate()));
            assert!(
                filter.layer_errors().all(|error| error > 0.0 && error <= filter.spec().error_rate)
            );
            for layer in filter.layers() {
                let rate = layer.by_fill(4096).rate;
                assert!((0.0..=1.0).contains(&rate), "rate {rate}");
            }
        }
        AnyRef::Small(filter) => assert_small_consistent(filter),
        AnyRef::Windowed(filter) => assert_windowed_consistent(filter),
        AnyRef::ValkeyBloom(filter) => {
            let sum = filter.layers_with_len().map(|(_, len)| len).sum::<u64>();
            assert_eq!(sum, filter.len());
            assert!(filter.capacity() <= MAX_CAPACITY && filter.newest_len() <= filter.capacity());
        }
        AnyRef::RedisBloom(filter) => {
            let sum = filter.layers_with_len().map(|(_, len)| len).fold(0, u64::saturating_add);
            assert_eq!(sum, filter.len());
            assert!(
                filter.layers().all(|layer| layer.shape().is_sound()),
                "a layer that no entry point would accept"
            );
        }
    }
}

/// Compares a small filter with one that can grow, and a list with the bits in its place.
fn assert_small_consistent(filter: &SmallFilter) {
    let grown = filter.to_filter().expect("memory");
    assert_eq!((filter.spec(), filter.seed()), (grown.spec(), grown.seed()));
    assert_eq!((filter.len(), filter.capacity()), (grown.len(), grown.capacity()));
    assert_eq!(filter.estimate(), grown.estimate());
    assert!(filter.len() <= filter.capacity() && filter.size_bytes() < grown.size_bytes());
    let small = AnyFilter::from(filter.try_clone(&mut |_| true).expect("memory"));
    let bits = AnyFilter::from(filter.to_filter().expect("memory"));
    if filter.is_listed() {
        assert!(filter.len() <= 16 && small.size_bytes() < bits.size_bytes());
    }
    for other in [bits, AnyFilter::in_box(grown).expect("memory")] {
        assert_eq!((small.fills(), small.fp_rates()), (other.fills(), other.fp_rates()));
        assert_eq!(small.layer_numbers(), other.layer_numbers());
        for item in 0..100u64 {
            let item = item.to_le_bytes();
            assert_eq!(small.contains(&item, 0), other.contains(&item, 0));
        }
    }
}

/// When a generation stops answering, in milliseconds: a window after its slot. `u64::MAX` if the
/// filter does not remember by time.
pub fn expires(spec: &WindowSpec, generation: &GenerationRef) -> u64 {
    let lifetime = spec.times().map_or(u64::MAX, |(window, slot)| window + slot);
    generation.opened().saturating_add(lifetime)
}

/// Calls the methods that only a windowed filter has, and compares the results with each other.
fn assert_windowed_consistent(filter: &WindowedFilter) {
    let (spec, generations) = (filter.spec(), filter.generations());
    let present = generations.count();
    assert!((1..=spec.generations as usize + 1).contains(&present));
    assert_eq!(filter.generations().last().map(|(number, _)| number), Some(filter.number()));
    let sum =
        |of: fn(&GenerationRef) -> u64| filter.generations().map(|(_, it)| of(&it)).sum::<u64>();
    assert_eq!(sum(|it| it.live()), filter.len());
    assert_eq!(sum(|it| it.layer_count().into()), u64::from(filter.layer_count()));
    let mut opened = 0;
    for (_, generation) in filter.generations() {
        assert!(generation.live() <= generation.len() && opened <= generation.opened());
        opened = generation.opened();
        let lens = generation.layers_with_len();
        let lens = lens.inspect(|(layer, len)| assert!(*len <= layer.capacity()));
        assert_eq!(lens.map(|(_, len)| len).sum::<u64>(), generation.len());
        assert!(generation.overflow_errors().all(|error| error > 0.0 && error < spec.error_rate));
        assert!(opened < expires(&spec, &generation) || opened == u64::MAX);
    }
    assert!((0.0..=spec.error_rate).contains(&filter.fp_rate()), "rate {}", filter.fp_rate());
    assert!(filter.len_at(opened) <= filter.len());
    if spec.window == Window::Last || spec.window == Window::Manual {
        assert_eq!(filter.len_at(opened), filter.len());
    }
    // Offsets are counted over the life of the filter.
    let (first, mut end) = (filter.first_byte(), filter.first_byte());
    for chunk in filter.chunks(0, 4096) {
        assert_eq!(chunk.offset, end);
        end = chunk.end();
    }
    assert_eq!(end - first, filter.layers().map(|layer| layer.words().bytes()).sum::<u64>());
    assert!(filter.chunk(end).is_none());
}

/// Asserts that the filter can be loaded from what is saved of it, in each of its encodings;
/// returns the filter that was loaded from header and chunks.
///
/// It needs the memory of the filter and no more, all offsets of its bits are valid, and it is
/// equal to the saved one: header, chunks and size.
pub fn assert_reloads(filter: &AnyFilter) -> AnyFilter {
    let header = filter.encode_header();
    let mut demands = Vec::new();
    let mut permit = |demand: Demand| {
        demands.push(demand.filter_bytes);
        true
    };
    let mut copy = AnyFilter::decode_header(&header, &mut permit)
        .unwrap_or_else(|why| panic!("the filter's own header is refused: {why}: {filter:?}"));
    assert_eq!(demands, [demand_of(filter)], "one demand, for the size of the filter");
    assert_eq!(copy.first_byte(), filter.first_byte());
    let mut bytes = 0;
    filter.each_layer(|words| bytes += words.bytes());
    let end = filter.first_byte().checked_add(bytes).filter(|&end| end <= MAX_OFFSET);
    assert!(end.is_some(), "{bytes} bytes from byte {}", filter.first_byte());
    let mut offset = filter.first_byte();
    while let Some(chunk) = filter.chunk(offset) {
        copy.write_chunk(offset, chunk).expect("its own chunk");
        offset += chunk.len() as u64;
    }
    assert_eq!(Some(offset), end, "the chunks are all bits");
    assert_equal(filter, &copy);
    assert_carried(filter);
    copy
}

/// Inserts items until a layer is added, a generation is opened, or that is refused, and checks the
/// filter. Forged bits and counts may contain all items, so that nothing is ever added.
///
/// A refusal is one of the permit or of a limit, and has changed nothing.
pub fn assert_grows(filter: &mut AnyFilter) {
    let parts = |filter: &AnyFilter| {
        let number = filter.windowed().map(WindowedFilter::number);
        (filter.layer_count(), filter.first_byte(), number)
    };
    let (before, room) = (parts(filter), filter.room());
    let most = room.saturating_mul(2).saturating_add(1_000).min(MOST_INSERTED);
    let mut items = (1u64 << 32..).map(u64::to_le_bytes);
    for count in (0..most).step_by(BATCH).map(|start| BATCH.min((most - start) as usize)) {
        let batch: Vec<_> = items.by_ref().take(count).collect();
        let mut last = Ok(Insertion::New);
        filter.insert_each(&mut batch.iter().map(AsRef::as_ref), 0, &mut small, &mut |answer| {
            last = answer
        });
        if parts(filter) != before || last.is_err() {
            break;
        }
    }
    // Whichever of them an old layer contains by mistake.
    for item in items.take(100) {
        let unchanged = filter.try_clone(&mut |_| true).expect("memory");
        if let Err(why) = filter.insert_item(&item, 0, &mut small) {
            assert!(!matches!(why, Error::OutOfMemory(_)), "{why}: {filter:?}");
            assert_equal(filter, &unchanged);
            break;
        }
    }
    assert_consistent(filter);
    assert_reloads(filter);
}

/// Panics unless both filters are equal.
pub fn assert_equal(one: &AnyFilter, other: &AnyFilter) {
    assert_eq!(one.encode_header(), other.encode_header());
    assert_eq!((one.len(), one.size_bytes()), (other.len(), other.size_bytes()));
    // Not `assert_eq`, which would print up to a megabyte.
    assert!(bits(one) == bits(other), "the bits differ");
}
