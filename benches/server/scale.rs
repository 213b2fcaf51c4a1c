//! How much a run measures.

/// How much is run. All scales have the same rows; filters and numbers of rounds grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Seconds: every row once with tiny filters, to check that the bench works. The times have no
    /// meaning.
    Smoke,
    /// Less than two minutes: no filters of 128 million items, no tiny ones, costs of smaller
    /// filters.
    Quick,
    /// Less than twenty minutes.
    Full,
}
