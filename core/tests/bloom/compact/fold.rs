//! The arithmetic of folding compared with lists of pages.

use bloomline_core::bloom::bloomline::fold::Fold;
use bloomline_reference::folding::stored_pages;

/// The stored page of each hashed page.
fn pages_of(fold: Fold, hashed: u64) -> Vec<u64> {
    (0..hashed).map(|page| fold.stored_page(page)).collect()
}

#[test]
fn pages_of_folds_equal_the_reference_model() {
    for hashed in 1..=300 {
        for stored in 1..=hashed {
            let fold = Fold::new(hashed, stored);
            let pages = pages_of(fold, hashed);
            assert_eq!(pages, stored_pages(hashed, stored), "{fold:?}");
            assert_eq!((fold.stored(), fold.is_identity()), (stored, hashed == stored));
            // The hashed page of a stored one is the first of them.
            for page in 0..stored {
                let first = pages.iter().position(|&target| target == page).unwrap();
                assert_eq!(fold.hashed_page(page), first as u64, "{fold:?}");
            }
        }
    }
}

#[test]
fn stored_pages_have_consecutive_pages_of_similar_number() {
    for hashed in 1..=300u64 {
        for stored in 1..=hashed {
            let pages = pages_of(Fold::new(hashed, stored), hashed);
            assert_eq!((pages[0], pages[pages.len() - 1]), (0, stored - 1));
            assert!(pages.windows(2).all(|pair| pair[1] - pair[0] <= 1), "{pages:?}");
            let counts: Vec<usize> =
                pages.chunk_by(|one, next| one == next).map(<[_]>::len).collect();
            // The last page may have fewer.
            let (_, all_but_last) = counts.split_last().unwrap();
            let (least, most) = (all_but_last.iter().min(), all_but_last.iter().max());
            let is_even = least.zip(most).is_none_or(|(&least, &most)| most <= 2 * least);
            assert!(is_even, "{hashed} to {stored}: {counts:?}");
        }
    }
}

#[test]
fn single_pages_keep_their_place() {
    let folds = (1..=70u64).flat_map(|hashed| (1..=hashed).map(move |stored| (hashed, stored)));
    for (hashed, stored) in folds.filter(|(hashed, stored)| 2 * stored > hashed + 1) {
        let fold = Fold::new(hashed, stored);
        let kept = (0..hashed).take_while(|&page| fold.stored_page(page) == page).count() as u64;
        assert!(kept > 2 * stored - hashed - 2, "{hashed} to {stored}: {kept} pages");
    }
}

#[test]
fn folding_in_two_steps_equals_folding_in_one() {
    for hashed in 1..=128 {
        for between in 1..=hashed {
            let first = Fold::new(hashed, between);
            for stored in 1..=between {
                let last = Fold::new(hashed, stored);
                // Pages that were folded into one stay in one, and nothing else decides the target.
                for page in 0..hashed {
                    let kept = first.hashed_page(first.stored_page(page));
                    assert_eq!(
                        last.stored_page(kept),
                        last.stored_page(page),
                        "{first:?} {last:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn numbers_of_large_folds_do_not_overflow() {
    let hashed = u64::from(u32::MAX);
    for stored in [1, 2, 3, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, hashed - 1, hashed] {
        let fold = Fold::new(hashed, stored);
        assert_eq!((fold.stored_page(0), fold.stored_page(hashed - 1)), (0, stored - 1));
        assert_eq!(fold.stored_page(fold.hashed_page(stored - 1)), stored - 1);
        assert!(fold.hashed_page(stored - 1) < hashed);
    }
}
