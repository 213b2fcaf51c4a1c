//! Folding the bits of a layer.

use std::ops::{ControlFlow, Range};

use super::{CompactShape, Newest};
use crate::bloom::bloomline::fold::Fold;
use crate::bloom::bloomline::{BlockedLayer, BlockedParams, BlockedPlan, BlockedShape};
use crate::error::Error;
use crate::memory::words::Words;

/// A fold that saves less than this part of a layer is not worth a record in the header. A further
/// one must save this part of the filter.
const LEAST_SAVING: u64 = 16;

/// A layer that is folded to this part of its pages or less gets new memory. Otherwise it is folded
/// in its own memory, and takes none besides.
const FEW_PAGES: u64 = 8;

impl BlockedPlan {
    /// The plan with the fewest pages with which the rate is at most `error` with `least` items.
    /// The layer has `items` items, at most `least`, and `len` of them are counted. `None` if that
    /// saves less than 1/16.
    ///
    /// The capacity falls to what the layer may hold then.
    pub(crate) fn compacted(&self, error: f64, least: u64, len: u64, items: u64) -> Option<Self> {
        let to = self.fold().smallest(self.geometry(), least, error);
        self.compacted_to(to, error, least, len, items)
    }

    /// The same with evenly filled pages, if that takes at most half as many pages more: they take
    /// up to twice the items, and the filter goes on growing.
    fn compacted_evenly(&self, error: f64, least: u64, len: u64, items: u64) -> Option<Self> {
        let to = self.fold().smallest(self.geometry(), least, error);
        let even = to.evened();
        let is_better =
            even.stored() <= self.fold().stored() && even.stored() * 2 <= to.stored() * 3;
        self.compacted_to(if is_better { even } else { to }, error, least, len, items)
    }

    fn compacted_to(&self, to: Fold, error: f64, least: u64, len: u64, items: u64) -> Option<Self> {
        let from = self.fold();
        if (from.stored() - to.stored()) * LEAST_SAVING < from.stored() {
            return None;
        }
        let most = self.capacity().max(least);
        let room = to.items_at(self.geometry(), error, least, most) - items;
        let capacity = self.capacity().min(len.saturating_add(room)).max(1);
        Some(self.folded(to, capacity))
    }
}

impl CompactShape for BlockedShape {
    fn is_folded(&self) -> bool {
        self.geometry.is_folded()
    }

    fn created(params: &BlockedParams) -> Option<(BlockedParams, BlockedPlan)> {
        BlockedParams::new(params.spec(), params.seed).ok()
    }

    fn folded(
        layer: &BlockedLayer,
        params: &BlockedParams,
        index: u32,
        newest: &Newest,
    ) -> Option<(BlockedParams, BlockedPlan)> {
        let &Newest { len, items, older, .. } = newest;
        let plan = layer.plan();
        let params = params.moved(newest.filter_bytes)?;
        if !newest.is_further {
            return Some((
                params,
                plan.compacted(params.compacted_error(index), items, len, items)?,
            ));
        }
        let least = items.max(BlockedParams::least_room(older)).max(1);
        let folded =
            plan.compacted_evenly(params.error_by_size(least, older), least, len, items)?;
        let saved = plan.bytes() - folded.bytes();
        (saved.saturating_mul(LEAST_SAVING) >= newest.filter_bytes).then_some((params, folded))
    }

    /// Folds to a few pages in new memory, and to more of them, or without memory, in place.
    fn fold(layer: &mut BlockedLayer, folded: &BlockedPlan) {
        let (from, to) = (layer.fold(), folded.fold());
        layer.shape = folded.shape;
        let page_words = layer.geometry().page_bytes() as usize / size_of::<u64>();
        if to.stored() > from.stored() / FEW_PAGES {
            fold_in_place(&mut layer.words, page_words, from, to);
        } else if let Ok(words) = merged_pages(&layer.words, page_words, from, to) {
            layer.words = words;
        } else {
            fold_in_place(&mut layer.words, page_words, from, to);
        }
    }
}

/// Folds words in their memory, and gives the rest of it back.
///
/// Stored pages that are merged are neighbours, and a page never moves up. So going upwards no page
/// is overwritten before it is read. The first pages are not even read if they stay as they are;
/// see docs/explanation/performance.md.
fn fold_in_place(words: &mut Words, page_words: usize, from: Fold, to: Fold) {
    let all = words.as_mut_slice();
    let mut merged = None;
    for page in from.kept_by(&to)..from.stored() {
        let target = to.stored_page(from.hashed_page(page));
        let (start, end) = (target as usize * page_words, page as usize * page_words);
        let is_first = merged.replace(target) != Some(target);
        match all.split_at_mut_checked(end) {
            _ if target == page => {}
            Some((below, above)) => {
                let target = below.get_mut(start..start + page_words).unwrap_or_default();
                let page = above.get(..page_words).unwrap_or_default();
                if is_first {
                    target.iter_mut().zip(page).for_each(|(to, from)| *to = *from);
                } else {
                    target.iter_mut().zip(page).for_each(|(to, from)| *to |= from);
                }
            }
            None => {}
        }
    }
    words.truncate(to.stored() * page_words as u64);
}

/// The folded words in new memory. Pages that were never touched are not read.
fn merged_pages(words: &Words, page_words: usize, from: Fold, to: Fold) -> Result<Words, Error> {
    const WORD: usize = size_of::<u64>();
    let mut result = Words::zeroed(to.stored() * page_words as u64)?;
    let (all, target) = (words.as_slice(), result.as_mut_slice());
    words.visit_touched(0..all.len() * WORD, |Range { start, end }| {
        let (mut start, end) = (start / WORD, end.div_ceil(WORD));
        while start < end {
            let (page, within) = (start / page_words, start % page_words);
            let next = end.min((page + 1) * page_words);
            let merged = to.stored_page(from.hashed_page(page as u64)) as usize;
            let target = target.get_mut(merged * page_words + within..).unwrap_or_default();
            let page = all.get(start..next).unwrap_or_default();
            target.iter_mut().zip(page).for_each(|(to, from)| *to |= from);
            start = next;
        }
        ControlFlow::Continue(())
    });
    Ok(result)
}
