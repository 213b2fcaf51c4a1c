//! The false-positive rate of one concrete layer, computed exactly from its bits for an ideal hash.
//!
//! A lookup has a uniform first block and a uniform stride. In each of its blocks it has a uniform
//! start, and a uniform bit index in each of the consecutive sectors. So the probability that a
//! block passes is the mean, over the starts, of the product of the fills of these sectors. Nothing
//! is drawn at random, so a rate of 1e-15 costs no more than one of 0.25.

use bloomline_core::bloomline::BlockedLayer;

/// The probability that a random lookup finds all its bits set.
pub fn rate_of_bits(layer: &BlockedLayer) -> f64 {
    let geometry = layer.geometry();
    let bits = usize::from(geometry.bits_per_block());
    let passes: Vec<f64> =
        layer.as_bytes().chunks_exact(64).map(|block| passes(block, bits)).collect();
    let blocks_per_item = u64::from(geometry.blocks_per_item());
    let page_blocks = geometry.blocks_per_page();
    let strides = if blocks_per_item == 1 { 1 } else { (page_blocks - 1) / (blocks_per_item - 1) };
    let mut sum = 0.0;
    for page in passes.chunks_exact(page_blocks as usize) {
        for first in 0..page_blocks {
            for stride in 1..=strides {
                let block = |j| page[((first + j * stride) % page_blocks) as usize];
                sum += (0..blocks_per_item).map(block).product::<f64>();
            }
        }
    }
    sum / (geometry.blocks() * strides) as f64
}

/// The probability that `bits` random bits in consecutive sectors of a block are set.
fn passes(block: &[u8], bits: usize) -> f64 {
    let ones = |sector: usize| {
        let bytes = &block[sector % 8 * 8..][..8];
        bytes.iter().map(|byte| byte.count_ones()).sum::<u32>()
    };
    let fill: [f64; 8] = std::array::from_fn(|sector| f64::from(ones(sector)) / 64.0);
    let from = |start| (start..start + bits).map(|sector| fill[sector % 8]).product::<f64>();
    (0..8).map(from).sum::<f64>() / 8.0
}
