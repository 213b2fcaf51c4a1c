//! The kinds of filters in the load, as data.

/// How long a filter promises to contain an item.
#[derive(Clone, Copy, PartialEq)]
pub enum Remembers {
    /// For ever.
    All,
    /// For so many seconds.
    Seconds(i64),
    /// For nearly so many further distinct items.
    Items(i64),
    /// For so many rotations by hand.
    Rotations(i64),
}

/// A kind of filter.
pub struct FilterKind {
    /// The last part of its keys.
    pub name: &'static str,
    /// The arguments of BF.RESERVE after the key: rate, capacity, options.
    pub reserve: &'static str,
    /// The target rate.
    pub error_rate: f64,
    pub remembers: Remembers,
    /// True if an item that is added again is remembered anew.
    pub refreshes: bool,
    /// The most items that are added to a filter, which is then deleted.
    pub most: u64,
}

/// Seconds of the windows. They are longer than a run, unless the clock is moved.
pub const WINDOW: i64 = 80_000;

const fn kind(
    name: &'static str,
    reserve: &'static str,
    error_rate: f64,
    remembers: Remembers,
    refreshes: bool,
    most: u64,
) -> FilterKind {
    FilterKind { name, reserve, error_rate, remembers, refreshes, most }
}

/// One kind of each layout, growth and window. The small ones grow, and the large ones are sparse, so
/// that BF.COMPACT has what to give back.
pub const KINDS: [FilterKind; 14] = {
    use Remembers::{All, Items, Rotations, Seconds};
    [
        kind("grown", "0.01 100 SEED 7", 0.01, All, false, 8000),
        kind("flat", "0.001 50 EXPANSION 1 SEED 7", 0.001, All, false, 1500),
        kind("sparse", "0.02 100000 EXPANSION 4 SEED 7", 0.02, All, false, 20_000),
        kind("fixed", "0.01 6000 NONSCALING SEED 7", 0.01, All, false, 5500),
        kind("classic", "0.01 1000 LAYOUT redisbloom", 0.01, All, false, 8000),
        kind("classic:flat", "0.02 500 EXPANSION 1 LAYOUT redisbloom", 0.02, All, false, 4000),
        kind("classic:sparse", "0.01 44869 LAYOUT redisbloom", 0.01, All, false, 20_000),
        kind("classic:fixed", "0.02 6000 NONSCALING LAYOUT redisbloom", 0.02, All, false, 5500),
        kind("window", "0.01 2000 WINDOW 80000", 0.01, Seconds(WINDOW), true, 20_000),
        kind(
            "window:once",
            "0.02 1000 WINDOW 80000 GENERATIONS 3 NOREFRESH EXPANSION 1",
            0.02,
            Seconds(WINDOW),
            false,
            20_000,
        ),
        kind("last", "0.01 1000 LAST", 0.01, Items(1000), true, 20_000),
        kind("last:once", "0.02 400 LAST GENERATIONS 2 NOREFRESH", 0.02, Items(400), false, 9000),
        kind("hand", "0.01 20000 GENERATIONS 8", 0.01, Rotations(8), true, 20_000),
        kind("hand:fixed", "0.02 30000 GENERATIONS 3 NONSCALING", 0.02, Rotations(3), true, 9000),
    ]
};
