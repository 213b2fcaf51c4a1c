//! The false-positive rate of one concrete layer, computed exactly from its bits for an ideal hash.
//!
//! A lookup has a uniform first block and a uniform stride. In each of its blocks it has a uniform
//! start, and a uniform bit index in each of the consecutive sectors. So the probability that a
//! block passes is the mean, over the starts, of the product of the fills of these sectors. Nothing
//! is drawn at random, so a rate of 1e-15 costs no more than one of 0.25.

use bloomline_core::bloom::bloomline::BlockedLayer;

use crate::folding::stored_pages;

/// The probability that a random lookup finds all its bits set, in a layer that is not folded.
pub fn rate_of_bits(layer: &BlockedLayer) -> f64 {
    let pages = layer.geometry().pages();
    (0..pages).map(|page| rate_of_page(layer, page)).sum::<f64>() / pages as f64
}

/// The same in a folded layer: the mean over the pages that hashes are scaled to.
pub fn rate_of_folded(layer: &BlockedLayer) -> f64 {
    let shape = layer.plan();
    let (fold, hashed) = (shape.fold(), shape.geometry().pages());
    let rates: Vec<f64> = (0..fold.stored()).map(|page| rate_of_page(layer, page)).collect();
    let stored = stored_pages(hashed, fold.stored());
    stored.iter().map(|&page| rates[page as usize]).sum::<f64>() / hashed as f64
}

/// The probability that a random lookup in a stored page finds all its bits set.
fn rate_of_page(layer: &BlockedLayer, page: u64) -> f64 {
    let geometry = layer.geometry();
    let bits = usize::from(geometry.bits_per_block());
    let blocks_per_item = u64::from(geometry.blocks_per_item());
    let page_blocks = geometry.blocks_per_page();
    let block_bytes = usize::from(geometry.sectors()) * 8;
    let bytes = page_blocks as usize * block_bytes;
    let page = &layer.words().as_bytes()[page as usize * bytes..][..bytes];
    let passes: Vec<f64> =
        page.chunks_exact(block_bytes).map(|block| passes(block, bits)).collect();
    let strides = if blocks_per_item == 1 { 1 } else { (page_blocks - 1) / (blocks_per_item - 1) };
    let mut sum = 0.0;
    for first in 0..page_blocks {
        for stride in 1..=strides {
            let block = |j| passes[((first + j * stride) % page_blocks) as usize];
            sum += (0..blocks_per_item).map(block).product::<f64>();
        }
    }
    sum / (page_blocks * strides) as f64
}

/// The probability that `bits` random bits in consecutive sectors of a block are set.
fn passes(block: &[u8], bits: usize) -> f64 {
    let ones = |sector: &[u8]| sector.iter().map(|byte| byte.count_ones()).sum::<u32>();
    let fill: Vec<f64> =
        block.chunks_exact(8).map(|sector| f64::from(ones(sector)) / 64.0).collect();
    let sectors = fill.len();
    let from = |start| (start..start + bits).map(|sector| fill[sector % sectors]).product::<f64>();
    (0..sectors).map(from).sum::<f64>() / sectors as f64
}
