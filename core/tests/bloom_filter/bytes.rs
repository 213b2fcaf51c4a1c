//! The written form: round trips, cut, padded and damaged input, golden files.

use std::error::Error as _;
use std::io::{self, Read};

use bloomline_core::error::HeaderError;
use bloomline_core::{BloomFilter, Error, Layout, ReadError, Window};
use bloomline_reference::golden::file;

use super::cases::{Case, compacted, merged};
use super::{assert_equal, builder, bytes_of, filled, for_each, insert_each, read, written};

/// Bytes before the header.
const START_BYTES: usize = 16;

#[test]
fn written_filter_is_read_as_an_equal_one() {
    for_each(|Case { mut filter, items, .. }| {
        let bytes = written(&filter);
        let size = filter.size_bytes();
        let mut copy = BloomFilter::read_from(bytes.as_slice(), size).unwrap();
        assert_equal(&copy, &filter);
        assert_eq!(copy.size_bytes(), size);
        assert!(bytes_of(items.clone()).all(|item| copy.contains(item)));

        // It has the limit, and grows as the other one does.
        let error = BloomFilter::read_from(bytes.as_slice(), size - 1).unwrap_err();
        assert!(matches!(error, ReadError::Filter(Error::Refused(_))), "{error}");
        let more = items.end..items.end + 100_000;
        assert!(insert_each(&mut copy, more).last().unwrap().is_err());
        assert!(copy.size_bytes() <= size);
        let mut copy = read(&bytes).unwrap();
        let more = items.end..items.end + 2_000;
        assert_eq!(insert_each(&mut copy, more.clone()), insert_each(&mut filter, more));
        assert_equal(&copy, &filter);
    });
}

#[test]
fn cut_and_padded_input_is_refused() {
    for_each(|Case { filter, .. }| {
        let mut bytes = written(&filter);
        let ends = (0..bytes.len().min(400)).chain((400..bytes.len()).step_by(997));
        for end in ends.chain([bytes.len() - 1]) {
            let error = read(&bytes[..end]).unwrap_err();
            assert!(matches!(error, ReadError::TooShort), "{end} bytes: {error}");
        }
        bytes.push(0);
        assert!(matches!(read(&bytes).unwrap_err(), ReadError::TooLong));
        bytes.extend([0; 1 << 16]);
        assert!(matches!(read(&bytes).unwrap_err(), ReadError::TooLong));
        // A part of a longer input.
        let part = bytes.as_slice().take(filter.serialized_len());
        assert_equal(&BloomFilter::read_from(part, u64::MAX).unwrap(), &filter);
    });
}

#[test]
fn damaged_input_is_refused_or_a_filter_that_works() {
    const LIMIT: u64 = 1 << 20;
    for_each(|Case { filter, .. }| {
        let bytes = written(&filter);
        let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let (mut accepted, mut refused) = (0, 0);
        for at in 0..START_BYTES + header {
            for value in [0, 1, 2, 0x40, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let Ok(mut filter) = BloomFilter::read_from(damaged.as_slice(), LIMIT) else {
                    refused += 1;
                    continue;
                };
                accepted += 1;
                assert!(written(&filter) == damaged, "byte {at} = {value}");
                assert!(filter.size_bytes() <= LIMIT);
                insert_each(&mut filter, 0..20);
                filter.compact();
                assert_equal(&read(&written(&filter)).unwrap(), &filter);
            }
        }
        assert!(accepted > 0 && refused > START_BYTES, "{accepted}, {refused}");
    });
}

#[test]
fn each_kind_of_error_is_named() {
    let bytes = written(&filled(builder(Layout::Bloomline, 100), 0..50));
    let refused = |at: usize, value: &[u8]| {
        let mut damaged = bytes.clone();
        damaged[at..at + value.len()].copy_from_slice(value);
        read(&damaged).unwrap_err()
    };
    assert!(matches!(refused(0, b"B"), ReadError::Magic));
    assert!(matches!(refused(8, &[2, 1]), ReadError::Version(0x102)));
    let header = |error| match error {
        ReadError::Filter(Error::Header(error)) => error,
        other => panic!("{other}"),
    };
    assert_eq!(header(refused(10, &[0, 1])), HeaderError::Reserved);
    // The longest header has 20 + 53 * 4,096 bytes.
    assert!(matches!(refused(12, &217_108u32.to_le_bytes()), ReadError::TooShort));
    assert_eq!(header(refused(12, &217_109u32.to_le_bytes())), HeaderError::Length(217_109));
    assert_eq!(header(refused(12, &[0xff; 4])), HeaderError::Length(0xffff_ffff));
    assert_eq!(header(refused(16, b"B")), HeaderError::Magic);
    let error = refused(16, b"B");
    assert_eq!(error.to_string(), "bad header: bad magic");
    assert_eq!(error.source().unwrap().to_string(), "bad magic");
    assert!(Error::Full(1).source().is_none());

    let limited = BloomFilter::read_from(bytes.as_slice(), 60).unwrap_err();
    assert!(matches!(limited, ReadError::Filter(Error::Refused(64))), "{limited}");
    assert_eq!(io::Error::from(limited).kind(), io::ErrorKind::InvalidData);
    let cut = io::Error::from(read(&bytes[..20]).unwrap_err());
    assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(cut.to_string(), "the input ends before the filter does");
}

/// A reader and a writer that fail after some bytes.
struct Failing(usize);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl io::Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn errors_of_readers_and_writers_are_returned() {
    let filter = filled(builder(Layout::Bloomline, 100), 0..1_000);
    let bytes = written(&filter);
    for len in [0, 10, 50, 1_000, bytes.len() - 1] {
        let error = filter.write_to(Failing(len)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
    filter.write_to(Failing(bytes.len())).unwrap();
    // Also if only the end is missing.
    for len in [0, 10, 50, 1_000, bytes.len()] {
        let error = BloomFilter::read_from(bytes[..len].chain(Failing(0)), u64::MAX).unwrap_err();
        let ReadError::Io(source) = &error else { panic!("{error}") };
        assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(error.source().unwrap().to_string(), source.to_string());
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::ConnectionReset);
    }
}

#[test]
fn golden_files_are_read_and_written_unchanged() {
    let layout = Layout::Bloomline;
    let wide = || builder(layout, 500).false_positive_rate(0.1);
    for (name, filter, items) in [
        ("grown", filled(builder(layout, 50), 0..300), 300),
        ("recompacted", compacted(filled(builder(layout, 10_000), 0..800)), 800),
        ("merged", merged(filled(wide(), 0..275), &filled(wide(), 275..550)), 550),
        ("redisbloom", filled(builder(Layout::RedisBloom, 50), 0..300), 300),
    ] {
        let file = file(&format!("core-v1/{name}.bin"), &written(&filter));
        assert!(written(&filter) == file, "{name}");
        let copy = read(&file).unwrap();
        assert!(written(&copy) == file, "{name}");
        assert!(bytes_of(0..items).all(|item| copy.contains(item)), "{name}");
    }
    // Release 0.1 has written it, with less than a compaction writes now.
    let file = file("core-v1/compacted.bin", &[]);
    let copy = read(&file).unwrap();
    assert!(written(&copy) == file && bytes_of(0..800).all(|item| copy.contains(item)));
}

/// The file has times of the day on which it was written.
#[test]
fn golden_file_of_a_window_is_read_and_written_unchanged() {
    let mut filter = builder(Layout::Bloomline, 500).window(Window::Last).build().unwrap();
    filter.try_extend(bytes_of(0..2_000)).unwrap();
    let file = file("core-v1/windowed.bin", &written(&filter));
    let copy = read(&file).unwrap();
    assert!(written(&copy) == file);
    assert!(bytes_of(1_500..2_000).all(|item| copy.contains(item)));
    assert_eq!((copy.len(), copy.capacity()), (filter.len(), filter.capacity()));
}
