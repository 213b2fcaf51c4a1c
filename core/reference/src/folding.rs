//! The reference model of folding: which pages are stored as one, as lists of pages.

/// The stored page of each of `hashed` pages if `stored` are left, 1 to `hashed`.
///
/// Neighbours are paired until another round would leave fewer than `stored`. Then only as
/// many pairs are made as are still too many: the last ones.
pub fn stored_pages(hashed: u64, stored: u64) -> Vec<u64> {
    let mut groups: Vec<Vec<u64>> = (0..hashed).map(|page| vec![page]).collect();
    while groups.len() > 1 && groups.len().div_ceil(2) as u64 >= stored {
        groups = groups.chunks(2).map(<[_]>::concat).collect();
    }
    // If all were paired, `halved` groups would be left. Each two groups that stay add one.
    let halved = groups.len().div_ceil(2);
    let (single, paired) = groups.split_at(2 * (stored as usize - halved));
    let joined = single.iter().cloned().chain(paired.chunks(2).map(<[_]>::concat));
    let with_target =
        joined.zip(0..).flat_map(|(pages, target)| pages.into_iter().map(move |_| target));
    with_target.collect()
}
