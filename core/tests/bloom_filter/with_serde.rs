//! Serialization by the crate `serde`.

use bloomline_core::BloomFilter;
use serde::Deserialize;
use serde::de::value::{BytesDeserializer, Error as SerdeError};

use super::cases::Case;
use super::{assert_equal, for_each, written};

#[test]
fn serde_takes_the_written_bytes() {
    for_each(|Case { filter, .. }| {
        let bytes = written(&filter);
        let list = serde_json::to_string(&filter).unwrap();
        assert_eq!(serde_json::from_str::<Vec<u8>>(&list).unwrap(), bytes);
        assert_equal(&serde_json::from_str(&list).unwrap(), &filter);
        let string = BytesDeserializer::<SerdeError>::new(&bytes);
        assert_equal(&BloomFilter::deserialize(string).unwrap(), &filter);
    });
}

#[test]
fn serde_refuses_what_is_cut_padded_or_no_filter() {
    for_each(|Case { filter, .. }| {
        let bytes = written(&filter);
        let padded = [&bytes[..], &[0]].concat();
        let cut = &bytes[..bytes.len() - 1];
        for (bytes, why) in [
            (cut, "the input ends before the filter does"),
            (&padded[..], "the input has bytes after the end of the filter"),
            (&bytes[1..], "not a filter: bad magic"),
            // Bits are allocated only if the input is as long as they are.
            (&bytes[..bytes.len() / 2], ""),
        ] {
            let list = serde_json::to_string(bytes).unwrap();
            let error = serde_json::from_str::<BloomFilter>(&list).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    });
    assert!(serde_json::from_str::<BloomFilter>("[1, 256]").is_err());
    assert!(serde_json::from_str::<BloomFilter>("{}").is_err());
}
