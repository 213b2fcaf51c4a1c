//! The rules of the strictest RedisBloom for a filter that it loads, checked on the bytes of a
//! header: releases from 8.10 on refuse a filter that breaks one of them.

use std::array;

/// The bytes of a header, read from the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_at(N);
        self.0 = rest;
        array::from_fn(|at| taken[at])
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.take())
    }
}

/// Panics with the broken rule, unless such a RedisBloom loads a filter with this header.
pub fn assert_loads(header: &[u8]) {
    let mut fields = Fields(header);
    let (items, links) = (fields.u64(), fields.u32());
    let (options, growth) = (fields.u32(), fields.u32());
    assert!((1..1 << 31).contains(&links), "{links} links");
    assert!(options & !0x0f == 0, "options {options:#x}");
    let is_fixed = options & 8 != 0;
    assert!(is_fixed || growth >= 1, "growth {growth}");
    assert_eq!(header.len(), 20 + 53 * links as usize);
    let mut sum = 0u64;
    for link in 0..links {
        let (bytes, bits, len) = (fields.u64(), fields.u64(), fields.u64());
        let (error, per_item, hashes) = (fields.f64(), fields.f64(), fields.u32());
        let (capacity, [log2_bits]) = (fields.u64(), fields.take());
        assert!(error > 0.0 && error < 1.0, "link {link}: error {error}");
        assert!(per_item > 0.0 && per_item.is_finite(), "link {link}: {per_item} bits per item");
        let expected = (0.693147180559945 * per_item).ceil();
        assert_eq!(f64::from(hashes), expected, "hashes of link {link}");
        assert!(bits > 0 && bytes.checked_mul(8) == Some(bits), "link {link}: {bits}, {bytes}");
        assert!(log2_bits <= 63, "link {link}: 2^{log2_bits}");
        assert!(log2_bits == 0 || 1 << log2_bits <= bits, "link {link}: 2^{log2_bits} of {bits}");
        assert!(len <= capacity, "link {link}: {len} items, capacity {capacity}");
        sum = sum.checked_add(len).expect("a number of items below 2^64");
        if link + 1 == links {
            let next = capacity.checked_mul(growth.into());
            assert!(next.is_some(), "link {link}: capacity {capacity} times {growth}");
        }
    }
    assert_eq!(sum, items, "items of all links");
}
