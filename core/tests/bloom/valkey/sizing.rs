//! Sizes, hashes and indexes equal to those of the reference model.

use bloomline_core::bloom::classic::indexes::{Indexes, Modulus, Reduction};
use bloomline_core::bloom::valkey::indexes::{BelowPrime, PRIME};
use bloomline_core::bloom::valkey::sizing::{MIN_LAYER_RATE, hashes, layer_bytes, layer_rate};
use bloomline_core::hash::Pair;
use bloomline_core::hash::siphash::{Pairs, Seed, pair};
use bloomline_core::simd::{Scalar, Task};
use bloomline_reference::random::Random;
use bloomline_reference::valkey;

/// A number in (0, 1): uniform, or near 0 or 1 by orders of magnitude.
fn rate(random: &mut Random) -> f64 {
    let uniform = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
    let rate = match random.below(3) {
        0 => uniform,
        1 => 10f64.powf(-300.0 * uniform),
        _ => 1.0 - 10f64.powf(-15.0 * uniform),
    };
    rate.clamp(1e-300, 1.0 - f64::EPSILON)
}

#[test]
fn sizes_of_random_layers_equal_those_of_the_model() {
    let mut random = Random::new(43);
    // The logarithm of the C library is not correctly rounded in one of ten thousand cases, and the
    // last bit seldom decides the number of bytes.
    let mut different = 0;
    for _ in 0..100_000 {
        let capacity = (random.next() >> random.below(63)).max(1);
        let rate = rate(&mut random);
        let bytes = layer_bytes(capacity, rate);
        let expected = valkey::bytes(capacity, rate);
        different += u32::from(bytes != expected);
        assert!(bytes.abs_diff(expected) as f64 <= 1.0 + expected as f64 * 1e-15);
        assert_eq!(hashes(bytes, capacity), valkey::hashes(bytes, capacity));
        assert!(hashes(bytes, capacity) <= 1_026);
    }
    assert!(different <= 20, "{different} sizes differ");
}

#[test]
fn most_bits_of_an_item_are_those_of_the_smallest_rate() {
    for (rate, expected) in [(MIN_LAYER_RATE.next_up(), 1_026), (5e-324, 1_076)] {
        let most = (1..100_000).map(|capacity| hashes(layer_bytes(capacity, rate), capacity)).max();
        assert_eq!(most, Some(expected));
    }
}

#[test]
fn rates_are_powers_by_repeated_squaring() {
    let cases = [(0.5, 1_015), (0.3, 7), (0.99, 4_095), (0.85, 2), (0.1, 1), (0.9, 0)];
    for (tightening, index) in cases {
        let mut expected = 1.0;
        // The highest bit first: each bit of the index is one factor.
        for bit in 0..32 {
            let square = (0..bit).fold(tightening, |square: f64, _| square * square);
            expected *= if index >> bit & 1 == 1 { square } else { 1.0 };
        }
        assert_eq!(layer_rate(0.01, tightening, index), 0.01 * expected);
    }
}

#[test]
fn hashes_of_all_lengths_equal_those_of_the_model() {
    let mut random = Random::new(44);
    for length in 0..300 {
        let item: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        let mut seed = [0; 32];
        seed.fill_with(|| random.next() as u8);
        let Pair { a, b } = pair(&seed, &item);
        assert_eq!((a, b), valkey::pair(&seed, &item), "{length} bytes");
    }
}

/// The hashes that each backend of this processor gives, and [`Scalar`] on all.
fn hashes_by_backend(seed: &Seed, items: &[&[u8]]) -> Vec<Vec<Pair>> {
    let mut scalar = Vec::new();
    Pairs { seed, items, see: |pair| scalar.push(pair) }.run(Scalar);
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut))]
    let mut all = vec![scalar];
    #[cfg(target_arch = "x86_64")]
    {
        use bloomline_core::simd::avx2::Avx2;
        use bloomline_core::simd::avx512::Avx512;

        let mut hashes = Vec::new();
        if let Some(backend) = Avx2::detect() {
            backend.perform(Pairs { seed, items, see: |pair| hashes.push(pair) });
            all.push(std::mem::take(&mut hashes));
        }
        if let Some(backend) = Avx512::detect() {
            backend.perform(Pairs { seed, items, see: |pair| hashes.push(pair) });
            all.push(hashes);
        }
    }
    all
}

#[test]
fn hashes_of_many_items_equal_those_of_each() {
    let mut random = Random::new(46);
    let bytes: Vec<u8> = (0..1_000).map(|_| random.next() as u8).collect();
    for round in 0..2_000 {
        let mut seed = [0; 32];
        seed.fill_with(|| random.next() as u8);
        // Items of one length, of nearly one, or of any, at any address.
        let (least, spread) = [(random.below(200), 1), (random.below(190), 9), (0, 200)][round % 3];
        let items: Vec<&[u8]> = (0..random.below(65))
            .map(|_| {
                let from = random.below(800) as usize;
                &bytes[from..from + (least + random.below(spread)) as usize]
            })
            .collect();
        let expected: Vec<Pair> = items
            .iter()
            .map(|item| valkey::pair(&seed, item))
            .map(|(a, b)| Pair { a, b })
            .collect();
        for hashes in hashes_by_backend(&seed, &items) {
            assert_eq!(hashes, expected);
        }
    }
}

#[test]
fn sums_near_the_prime_are_reduced_by_it() {
    for distance in 0..200u64 {
        let sum = (PRIME - 100).wrapping_add(distance);
        assert_eq!(BelowPrime::of(sum), sum % PRIME, "{sum}");
    }
    for modulus in [8u64, 24, 8 * 120, 8 * 11_981_321, 1 << 40, 8 * ((1 << 57) + 1)] {
        for sum in (0..100u64)
            .flat_map(|n| [n, n.wrapping_mul(modulus), u64::MAX - n, PRIME - n, PRIME + n % 59])
        {
            let pair = Pair { a: sum, b: 0 };
            let mut indexes = Indexes::<BelowPrime>::new(&pair, Modulus::new(modulus));
            let (word, bit) = indexes.next_bit();
            let index = word as u64 * 64 + u64::from(bit.trailing_zeros());
            assert_eq!(index, sum % PRIME % modulus, "{sum} mod {modulus}");
        }
    }
}

#[test]
fn bits_of_forged_hashes_equal_those_of_the_model() {
    use bloomline_core::bloom::layer::Part;
    use bloomline_core::bloom::valkey::ValkeyLayer;
    use bloomline_core::bloom::valkey::layer::ValkeyShape;

    let mut random = Random::new(45);
    let near_the_end = |random: &mut Random| u64::MAX - random.below(200);
    for round in 0..3_000u64 {
        let capacity = 1 + random.below(400);
        let rate = rate(&mut random).max(1e-30);
        let shape = ValkeyShape::new(capacity, rate).expect("a shape");
        let mut layer = ValkeyLayer::build(&shape.into()).expect("memory");
        let mut model = valkey::ModelLayer::new(capacity, rate);
        let spot = match round % 3 {
            0 => Pair { a: random.next(), b: random.next() },
            1 => Pair { a: near_the_end(&mut random), b: random.below(3) },
            _ => Pair { a: random.below(100), b: near_the_end(&mut random) },
        };
        assert!(!layer.test_first(Scalar, &spot, None) || shape.hashes == 0);
        layer.set(Scalar, &spot);
        for index in model.bit_indexes((spot.a, spot.b)) {
            model.bits.set(index, true);
        }
        assert!(layer.as_bytes() == model.bits.as_raw_slice(), "{spot:?} in {shape:?}");
        assert!(layer.test_first(Scalar, &spot, None) && layer.test_rest(Scalar, &spot));
        layer.prefetch(&spot, Part::First);
        layer.prefetch(&spot, Part::Rest);
    }
}
