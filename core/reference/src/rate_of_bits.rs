//! The false-positive rate of one concrete layer, exact from its bits under an ideal hash.
//!
//! A lookup has a uniform first line and a uniform stride; in each of its lines it has a uniform
//! start, and a uniform bit in each of the words from there on. So a line passes with the mean over
//! the starts of the product of the words' shares of ones, and nothing has to be drawn: rates of
//! 1e-15 are measured as easily as those of 0.25.

use bloomline_core::bloomline::BlockedLayer;

/// Probability that a random lookup finds all its bits set.
pub fn rate_of_bits(layer: &BlockedLayer) -> f64 {
    let geometry = layer.geometry();
    let window = usize::from(geometry.bits_per_block());
    let passes: Vec<f64> =
        layer.as_bytes().chunks_exact(64).map(|line| passes(line, window)).collect();
    let blocks_per_item = u64::from(geometry.blocks_per_item());
    let page_lines = geometry.blocks_per_page();
    let strides = if blocks_per_item == 1 { 1 } else { (page_lines - 1) / (blocks_per_item - 1) };
    let mut sum = 0.0;
    for page in passes.chunks_exact(page_lines as usize) {
        for first in 0..page_lines {
            for stride in 1..=strides {
                let line = |j| page[((first + j * stride) % page_lines) as usize];
                sum += (0..blocks_per_item).map(line).product::<f64>();
            }
        }
    }
    sum / (geometry.blocks() * strides) as f64
}

/// Probability that a line has `window` random bits set in neighbouring words.
fn passes(line: &[u8], window: usize) -> f64 {
    let ones = |word: usize| {
        let bytes = &line[word % 8 * 8..][..8];
        bytes.iter().map(|byte| byte.count_ones()).sum::<u32>()
    };
    let share: [f64; 8] = std::array::from_fn(|word| f64::from(ones(word)) / 64.0);
    let from = |start| (start..start + window).map(|word| share[word % 8]).product::<f64>();
    (0..8).map(from).sum::<f64>() / 8.0
}
