//! The frozen table: blocks per item, bits per block and bits per item for each target rate.
//!
//! The table has two rows per octave of the target rate, from 1/4 down to 2^-50. A row has the
//! fewest blocks per item for which the bits per item stay within 2.9 % of the classic optimum,
//! `1.44 log2(1/error)`, over the whole row, or else four. Then it has the number of bits per block
//! that needs the fewest bits per item. The shapes are chosen by
//! [`fp_rate_at_load`](super::rate::fp_rate_at_load), and the bits per item are computed by
//! [`fp_rate_at_counted_load`](super::rate::fp_rate_at_counted_load). A test computes the whole
//! table again and compares; it prints the rows for a changed formula:
//!
//! ```sh
//! cargo test -p bloomline-core --test bloom -- frozen_table --nocapture
//! ```

/// Half an octave of target rates.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Blocks per item, 1 to 4.
    pub blocks_per_item: u8,
    /// Bits per item in each of its blocks, 1 to 8.
    pub bits_per_block: u8,
    /// Thousandths of a bit per item, rounded up, at five equally spaced target rates, the smallest
    /// rate first.
    pub milli_bits: [u32; KNOTS],
}

/// Number of target rates per row for which the table has the bits per item.
const KNOTS: usize = 5;

/// Exponent of the first octave: target rates from 1/8 to 1/4.
const FIRST_OCTAVE: i64 = -3;

/// The smallest target rate of the table.
pub const SMALLEST: f64 = 1.0 / (1u64 << 50) as f64;

impl Row {
    /// The row of a target rate from 2^-50 to 1/4, both included.
    pub fn of(error: f64) -> &'static Self {
        let bits = error.to_bits();
        let octave = (bits >> 52) as i64 - 1023;
        let upper_half = (bits >> 51) & 1;
        let index = (FIRST_OCTAVE - octave) * 2 + 1 - upper_half as i64;
        // 1/4 itself is the start of an octave that the table does not have; it belongs to row 0.
        #[expect(clippy::indexing_slicing, reason = "clamped")]
        &ROWS[index.clamp(0, ROWS.len() as i64 - 1) as usize]
    }

    /// Bits per item at a target rate of this row.
    ///
    /// The bits per item are a convex function of the target rate, so linear interpolation between
    /// two knots is never too low.
    pub fn bits_per_item(&self, error: f64) -> f64 {
        let mantissa = error.to_bits() & ((1 << 52) - 1);
        // The position within the row, in steps: an octave has two rows of KNOTS - 1 steps each.
        let step = (1u64 << 51) / (KNOTS as u64 - 1);
        let within = mantissa & ((1 << 51) - 1);
        // 1/4 is the end of row 0, but its mantissa is that of the start of a row.
        let (knot, fraction) = if error >= 0.25 {
            (KNOTS - 2, 1.0)
        } else {
            ((within / step) as usize, (within % step) as f64 / step as f64)
        };
        #[expect(
            clippy::indexing_slicing,
            reason = "within < 2^51, so the knot is at most KNOTS - 2"
        )]
        let (low, high) = (f64::from(self.milli_bits[knot]), f64::from(self.milli_bits[knot + 1]));
        (low + (high - low) * fraction) / 1000.0
    }
}

const fn row(blocks_per_item: u8, bits_per_block: u8, milli_bits: [u32; KNOTS]) -> Row {
    Row { blocks_per_item, bits_per_block, milli_bits }
}

/// Blocks per item, bits per block, and thousandths of a bit per item from the smallest to the
/// largest target rate of the row.
#[rustfmt::skip]
pub static ROWS: [Row; 96] = [
    row(1, 2, [3834, 3656, 3498, 3355, 3227]), // 1.875e-1 to 2.500e-1
    row(1, 3, [4548, 4315, 4114, 3939, 3784]), // 1.250e-1 to 1.875e-1
    row(1, 3, [5159, 4983, 4824, 4679, 4548]), // 9.375e-2 to 1.250e-1
    row(1, 4, [5948, 5706, 5496, 5311, 5146]), // 6.250e-2 to 9.375e-2
    row(1, 4, [6571, 6393, 6232, 6084, 5948]), // 4.688e-2 to 6.250e-2
    row(1, 5, [7407, 7157, 6940, 6747, 6574]), // 3.125e-2 to 4.688e-2
    row(1, 5, [8042, 7861, 7697, 7546, 7407]), // 2.344e-2 to 3.125e-2
    row(1, 6, [8930, 8674, 8448, 8248, 8068]), // 1.562e-2 to 2.344e-2
    row(2, 3, [9380, 9205, 9044, 8897, 8760]), // 1.172e-2 to 1.562e-2
    row(2, 3, [10305, 10030, 9789, 9574, 9380]), // 7.812e-3 to 1.172e-2
    row(2, 4, [10862, 10699, 10550, 10412, 10284]), // 5.859e-3 to 7.812e-3
    row(2, 4, [11711, 11460, 11239, 11041, 10862]), // 3.906e-3 to 5.859e-3
    row(2, 4, [12340, 12163, 12000, 11850, 11711]), // 2.930e-3 to 3.906e-3
    row(2, 4, [13263, 12990, 12749, 12534, 12340]), // 1.953e-3 to 2.930e-3
    row(2, 5, [13851, 13684, 13530, 13388, 13256]), // 1.465e-3 to 1.953e-3
    row(2, 5, [14717, 14462, 14236, 14034, 13851]), // 9.766e-4 to 1.465e-3
    row(2, 5, [15353, 15175, 15010, 14859, 14717]), // 7.324e-4 to 9.766e-4
    row(2, 5, [16281, 16007, 15766, 15549, 15353]), // 4.883e-4 to 7.324e-4
    row(2, 6, [16929, 16758, 16600, 16453, 16317]), // 3.662e-4 to 4.883e-4
    row(3, 4, [17572, 17319, 17095, 16894, 16712]), // 2.441e-4 to 3.662e-4
    row(3, 4, [18199, 18023, 17861, 17711, 17572]), // 1.831e-4 to 2.441e-4
    row(3, 4, [19108, 18841, 18604, 18391, 18199]), // 1.221e-4 to 1.831e-4
    row(3, 4, [19771, 19584, 19414, 19255, 19108]), // 9.155e-5 to 1.221e-4
    row(3, 5, [20619, 20374, 20156, 19960, 19782]), // 6.104e-5 to 9.155e-5
    row(3, 5, [21227, 21057, 20900, 20755, 20619]), // 4.578e-5 to 6.104e-5
    row(3, 5, [22102, 21846, 21618, 21413, 21227]), // 3.052e-5 to 4.578e-5
    row(3, 5, [22738, 22560, 22396, 22244, 22102]), // 2.289e-5 to 3.052e-5
    row(3, 5, [23654, 23385, 23147, 22932, 22738]), // 1.526e-5 to 2.289e-5
    row(3, 5, [24318, 24132, 23961, 23802, 23654]), // 1.144e-5 to 1.526e-5
    row(4, 4, [24995, 24731, 24495, 24284, 24092]), // 7.629e-6 to 1.144e-5
    row(4, 4, [25650, 25467, 25298, 25141, 24995]), // 5.722e-6 to 7.629e-6
    row(4, 4, [26592, 26316, 26071, 25850, 25650]), // 3.815e-6 to 5.722e-6
    row(4, 5, [27187, 27020, 26866, 26724, 26591]), // 2.861e-6 to 3.815e-6
    row(4, 5, [28041, 27791, 27569, 27369, 27187]), // 1.907e-6 to 2.861e-6
    row(4, 5, [28657, 28485, 28326, 28178, 28041]), // 1.431e-6 to 1.907e-6
    row(4, 5, [29540, 29282, 29052, 28845, 28657]), // 9.537e-7 to 1.431e-6
    row(4, 5, [30177, 29999, 29835, 29682, 29540]), // 7.153e-7 to 9.537e-7
    row(4, 5, [31091, 30824, 30586, 30372, 30177]), // 4.768e-7 to 7.153e-7
    row(4, 5, [31751, 31566, 31396, 31238, 31091]), // 3.576e-7 to 4.768e-7
    row(4, 5, [32697, 32420, 32174, 31952, 31751]), // 2.384e-7 to 3.576e-7
    row(4, 5, [33380, 33189, 33012, 32849, 32697]), // 1.788e-7 to 2.384e-7
    row(4, 6, [34282, 34025, 33796, 33590, 33402]), // 1.192e-7 to 1.788e-7
    row(4, 6, [34916, 34739, 34576, 34424, 34282]), // 8.941e-8 to 1.192e-7
    row(4, 6, [35822, 35557, 35321, 35109, 34916]), // 5.960e-8 to 8.941e-8
    row(4, 6, [36474, 36292, 36124, 35968, 35822]), // 4.470e-8 to 5.960e-8
    row(4, 6, [37408, 37135, 36892, 36673, 36474]), // 2.980e-8 to 4.470e-8
    row(4, 6, [38080, 37892, 37718, 37558, 37408]), // 2.235e-8 to 2.980e-8
    row(4, 6, [39041, 38760, 38510, 38285, 38080]), // 1.490e-8 to 2.235e-8
    row(4, 6, [39734, 39540, 39362, 39196, 39041]), // 1.118e-8 to 1.490e-8
    row(4, 6, [40725, 40435, 40177, 39945, 39734]), // 7.451e-9 to 1.118e-8
    row(4, 7, [41438, 41255, 41086, 40930, 40783]), // 5.588e-9 to 7.451e-9
    row(4, 7, [42374, 42101, 41857, 41638, 41438]), // 3.725e-9 to 5.588e-9
    row(4, 7, [43047, 42859, 42686, 42525, 42374]), // 2.794e-9 to 3.725e-9
    row(4, 7, [44008, 43728, 43478, 43252, 43047]), // 1.863e-9 to 2.794e-9
    row(4, 7, [44699, 44506, 44328, 44163, 44008]), // 1.397e-9 to 1.863e-9
    row(4, 7, [45687, 45398, 45141, 44910, 44699]), // 9.313e-10 to 1.397e-9
    row(4, 7, [46397, 46199, 46015, 45845, 45687]), // 6.985e-10 to 9.313e-10
    row(4, 7, [47412, 47115, 46851, 46613, 46397]), // 4.657e-10 to 6.985e-10
    row(4, 7, [48141, 47937, 47749, 47575, 47412]), // 3.492e-10 to 4.657e-10
    row(4, 7, [49184, 48880, 48608, 48364, 48141]), // 2.328e-10 to 3.492e-10
    row(4, 8, [49933, 49738, 49558, 49390, 49234]), // 1.746e-10 to 2.328e-10
    row(4, 8, [50929, 50638, 50379, 50145, 49933]), // 1.164e-10 to 1.746e-10
    row(4, 8, [51644, 51444, 51260, 51088, 50929]), // 8.731e-11 to 1.164e-10
    row(4, 8, [52665, 52367, 52101, 51862, 51644]), // 5.821e-11 to 8.731e-11
    row(4, 8, [53399, 53194, 53005, 52829, 52665]), // 4.366e-11 to 5.821e-11
    row(4, 8, [54446, 54140, 53868, 53622, 53399]), // 2.910e-11 to 4.366e-11
    row(4, 8, [55198, 54988, 54794, 54614, 54446]), // 2.183e-11 to 2.910e-11
    row(4, 8, [56272, 55959, 55679, 55428, 55198]), // 1.455e-11 to 2.183e-11
    row(4, 8, [57044, 56829, 56630, 56445, 56272]), // 1.091e-11 to 1.455e-11
    row(4, 8, [58146, 57824, 57538, 57279, 57044]), // 7.276e-12 to 1.091e-11
    row(4, 8, [58938, 58717, 58512, 58323, 58146]), // 5.457e-12 to 7.276e-12
    row(4, 8, [60068, 59738, 59444, 59179, 58938]), // 3.638e-12 to 5.457e-12
    row(4, 8, [60881, 60654, 60444, 60250, 60068]), // 2.728e-12 to 3.638e-12
    row(4, 8, [62041, 61702, 61401, 61128, 60881]), // 1.819e-12 to 2.728e-12
    row(4, 8, [62875, 62642, 62427, 62228, 62041]), // 1.364e-12 to 1.819e-12
    row(4, 8, [64067, 63719, 63409, 63129, 62875]), // 9.095e-13 to 1.364e-12
    row(4, 8, [64923, 64684, 64463, 64258, 64067]), // 6.821e-13 to 9.095e-13
    row(4, 8, [66146, 65789, 65470, 65184, 64923]), // 4.547e-13 to 6.821e-13
    row(4, 8, [67025, 66780, 66553, 66342, 66146]), // 3.411e-13 to 4.547e-13
    row(4, 8, [68281, 67914, 67588, 67293, 67025]), // 2.274e-13 to 3.411e-13
    row(4, 8, [69184, 68932, 68699, 68483, 68281]), // 1.705e-13 to 2.274e-13
    row(4, 8, [70474, 70097, 69762, 69459, 69184]), // 1.137e-13 to 1.705e-13
    row(4, 8, [71402, 71143, 70904, 70682, 70474]), // 8.527e-14 to 1.137e-13
    row(4, 8, [72727, 72340, 71995, 71685, 71402]), // 5.684e-14 to 8.527e-14
    row(4, 8, [73681, 73414, 73168, 72940, 72727]), // 4.263e-14 to 5.684e-14
    row(4, 8, [75042, 74644, 74290, 73971, 73681]), // 2.842e-14 to 4.263e-14
    row(4, 8, [76022, 75748, 75496, 75261, 75042]), // 2.132e-14 to 2.842e-14
    row(4, 8, [77421, 77012, 76648, 76320, 76022]), // 1.421e-14 to 2.132e-14
    row(4, 8, [78428, 78147, 77887, 77646, 77421]), // 1.066e-14 to 1.421e-14
    row(4, 8, [79867, 79446, 79072, 78735, 78428]), // 7.105e-15 to 1.066e-14
    row(4, 8, [80901, 80612, 80345, 80098, 79867]), // 5.329e-15 to 7.105e-15
    row(4, 8, [82380, 81948, 81563, 81217, 80901]), // 3.553e-15 to 5.329e-15
    row(4, 8, [83444, 83147, 82873, 82618, 82380]), // 2.665e-15 to 3.553e-15
    row(4, 8, [84965, 84521, 84125, 83769, 83444]), // 1.776e-15 to 2.665e-15
    row(4, 8, [86059, 85753, 85471, 85209, 84965]), // 1.332e-15 to 1.776e-15
    row(4, 8, [87623, 87166, 86759, 86393, 86059]), // 8.882e-16 to 1.332e-15
];
