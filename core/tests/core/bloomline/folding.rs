//! Folding: which pages are joined, and that compacting joins the bits of these pages.

use bloomline_core::bloomline::Filter;
use bloomline_core::bloomline::fold::Fold;
use bloomline_core::layer::Layer;
use bloomline_core::{Growth, Spec};
use bloomline_reference::items::mix;

/// All folds of up to 70 pages.
fn folds() -> impl Iterator<Item = (u64, u64)> {
    (1..=70).flat_map(|hashed| (1..=hashed).map(move |stored| (hashed, stored)))
}

/// The stored page of each hashed page: neighbours are joined until another round would leave too
/// few pages. Then only the last pairs are joined, as many as are still too many.
fn naive(hashed: u64, stored: u64) -> Vec<u64> {
    let mut groups: Vec<Vec<u64>> = (0..hashed).map(|page| vec![page]).collect();
    while groups.len() > 1 && groups.len().div_ceil(2) as u64 >= stored {
        groups = groups.chunks(2).map(<[_]>::concat).collect();
    }
    let singles = 2 * (stored as usize - groups.len().div_ceil(2));
    let (single, paired) = groups.split_at(singles);
    let joined = single.iter().cloned().chain(paired.chunks(2).map(<[_]>::concat));
    let numbered = joined.zip(0..);
    numbered.flat_map(|(pages, stored)| pages.into_iter().map(move |_| stored)).collect()
}

#[test]
fn stored_pages_are_those_of_the_naive_rule() {
    for (hashed, stored) in folds() {
        let fold = Fold::new(hashed, stored);
        let pages: Vec<u64> = (0..hashed).map(|page| fold.stored_page(page)).collect();
        assert_eq!(pages, naive(hashed, stored), "{hashed} to {stored}");
        assert_eq!(pages.last(), Some(&(stored - 1)), "{hashed} to {stored}");
        for page in 0..stored {
            let first = pages.iter().position(|&at| at == page).unwrap();
            assert_eq!(fold.hashed_page(page), first as u64, "{hashed} to {stored}, page {page}");
        }
    }
}

#[test]
fn two_folds_are_one_fold_to_the_smaller_size() {
    for (hashed, stored) in folds() {
        let from = Fold::new(hashed, stored);
        for to in (1..=stored).map(|smaller| Fold::new(hashed, smaller)) {
            for page in 0..hashed {
                let twice = to.stored_page(from.hashed_page(from.stored_page(page)));
                assert_eq!(twice, to.stored_page(page), "{from:?}, {to:?}, page {page}");
            }
        }
    }
}

#[test]
fn single_pages_keep_their_place() {
    for (hashed, stored) in folds().filter(|(hashed, stored)| 2 * stored > hashed + 1) {
        let fold = Fold::new(hashed, stored);
        let kept = (0..hashed).take_while(|&page| fold.stored_page(page) == page).count() as u64;
        assert!(kept > 2 * stored - hashed - 2, "{hashed} to {stored}: {kept} pages");
    }
}

#[test]
fn compacting_joins_the_bits_of_the_pages() {
    let mut folded = 0;
    for capacity in [3_000, 20_000, 137_001, 1_000_000] {
        for percent in [1, 5, 12, 30, 45, 60, 80] {
            let growth = Growth::Scaling { expansion: 2 };
            let spec = Spec { capacity, error_rate: 0.01, growth };
            let mut filter = Filter::new(spec, 1, &mut |_| true).unwrap();
            let items: Vec<u64> = (0..capacity * percent / 100).map(mix).collect();
            for item in &items {
                filter.insert(&item.to_le_bytes(), &mut |_| true).unwrap();
            }
            let layer = filter.layers().next().unwrap();
            let (before, page_bytes) =
                (layer.as_bytes().to_vec(), layer.geometry().blocks_per_page() as usize * 64);
            let freed = filter.compact();
            let layer = filter.layers().next().unwrap();
            let mut expected = vec![0; before.len() - freed as usize];
            let fold = layer.shape().fold();
            for (page, bytes) in before.chunks(page_bytes).enumerate() {
                let stored = fold.stored_page(page as u64) as usize * page_bytes;
                let joined = &mut expected[stored..stored + page_bytes];
                joined.iter_mut().zip(bytes).for_each(|(joined, byte)| *joined |= byte);
            }
            assert!(layer.as_bytes() == expected, "{capacity}, {percent} %");
            for item in &items {
                assert!(filter.contains(&item.to_le_bytes()), "{capacity}, {percent} %");
            }
            assert!(layer.fp_rate(items.len() as u64) <= 0.01, "{capacity}, {percent} %");
            folded += u32::from(freed > 0);
        }
    }
    assert!(folded >= 20, "{folded} filters became smaller");
}
