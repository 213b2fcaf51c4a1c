//! What filters add to the totals of INFO, when they are created, changed and freed.

use crate::policy::counters::Counter;

/// What a filter adds to `N` totals.
#[derive(Clone, Copy)]
pub struct Totals<const N: usize> {
    counters: &'static [&'static Counter; N],
    values: [u64; N],
}

impl<const N: usize> Totals<N> {
    /// What a filter adds to each of the counters.
    pub fn new(counters: &'static [&'static Counter; N], values: [u64; N]) -> Self {
        Self { counters, values }
    }

    /// Counts the change of a filter that added the totals `before`.
    #[inline]
    pub fn replace(&self, before: &Self) {
        let counters = self.counters.iter().zip(self.values).zip(before.values);
        for ((counter, now), before) in counters {
            if now != before {
                // A decrease is a difference modulo 2^64.
                counter.add(now.wrapping_sub(before));
            }
        }
    }

    /// Calls `see` with each counter and what the filter adds to it.
    #[inline]
    pub fn each(&self, mut see: impl FnMut(&Counter, u64)) {
        self.counters.iter().zip(self.values).for_each(|(counter, value)| see(counter, value));
    }
}
