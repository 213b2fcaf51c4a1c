//! Packed items: calls of BF.BULKADD and BF.BULKEXISTS, and what their replies say.

use arbitrary::{Result, Unstructured};
use redis::Value;

use crate::program::Words;

/// The arguments after the key, with these items if the form can hold them.
pub fn arguments(u: &mut Unstructured, items: &[Vec<u8>]) -> Result<Words> {
    let mut words: Words = match u.int_in_range(0..=2u8)? {
        0 => {
            let width = u.int_in_range(1..=12usize)?;
            // Shorter items are filled up, longer ones cut.
            let fixed = |item: &Vec<u8>| {
                let bytes = item.iter().copied().chain(std::iter::repeat(b'.'));
                bytes.take(width).collect::<Vec<_>>()
            };
            let data = items.iter().flat_map(fixed).collect();
            vec![b"fixed".to_vec(), width.to_string().into_bytes(), data]
        }
        1 => {
            let prefixed = |item: &Vec<u8>| [&(item.len() as u32).to_le_bytes()[..], item].concat();
            vec![b"PREFIXED".to_vec(), items.iter().flat_map(prefixed).collect()]
        }
        // An item that is empty or contains LF makes the call another one, or an error.
        _ => {
            let end = u.choose(&["\n", "\r\n"])?.as_bytes();
            let mut data = items.join(end);
            if u.arbitrary()? {
                data.extend(end);
            }
            vec![b"LINES".to_vec(), data]
        }
    };
    match u.int_in_range(0..=3u8)? {
        0 => words.insert(0, b"count".to_vec()),
        1 => words.push(b"COUNT".to_vec()),
        _ => {}
    }
    Ok(words)
}

/// The items of a call that the server has accepted, read byte by byte.
pub fn items(arguments: &[Vec<u8>]) -> Words {
    let is = |word: &Vec<u8>, name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let rest = match arguments {
        [count, rest @ ..] if is(count, "COUNT") => rest,
        rest => rest,
    };
    match rest {
        [form, width, data, ..] if is(form, "FIXED") => {
            let width = String::from_utf8_lossy(width).parse().expect("a width");
            assert_eq!(data.len() % width, 0, "bytes after the last item");
            data.chunks(width).map(<[u8]>::to_vec).collect()
        }
        [form, data, ..] if is(form, "PREFIXED") => {
            let (mut items, mut rest) = (Vec::new(), &data[..]);
            while !rest.is_empty() {
                let len = u32::from_le_bytes(rest[..4].try_into().expect("a length")) as usize;
                items.push(rest[4..4 + len].to_vec());
                rest = &rest[4 + len..];
            }
            items
        }
        [form, data, ..] if is(form, "LINES") => {
            let mut lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
            if lines.last().is_some_and(|last| last.is_empty()) {
                lines.pop();
            }
            let item = |line: &&[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
            let items: Words = lines.iter().map(item).collect();
            assert!(items.iter().all(|item| !item.is_empty()), "an empty line");
            items
        }
        other => panic!("an accepted form: {other:?}"),
    }
}

/// What a reply says of the items of a call.
pub struct Reply {
    /// The number of items that were processed.
    pub processed: usize,
    /// Their answers; none for a call with COUNT.
    pub answers: Option<Vec<bool>>,
    /// The number of ones.
    pub ones: usize,
}

impl Reply {
    /// Reads the reply to a call with so many items; none if it is an error.
    pub fn read(reply: &Value, items: usize) -> Option<Self> {
        let Value::Array(parts) = reply else { return None };
        let (first, second, is_refused) = match &parts[..] {
            [first, second] => (first, second, false),
            [first, second, Value::ServerError(_)] => (first, second, true),
            other => panic!("{other:?} as a reply"),
        };
        let Value::Int(processed) = *first else { panic!("{first:?} as a number") };
        let processed = processed as usize;
        assert!(
            if is_refused { processed < items } else { processed == items },
            "{processed} of {items}, refused: {is_refused}"
        );
        let (answers, ones) = match second {
            Value::Int(ones) => (None, *ones as usize),
            Value::BulkString(bytes) => {
                let bits: Vec<bool> = (0..8 * bytes.len())
                    .map(|at| bytes[at / 8] & (0x80 >> (at % 8)) != 0)
                    .collect();
                assert_eq!(bytes.len(), processed.div_ceil(8), "bytes for {processed} items");
                assert!(!bits[processed..].contains(&true), "a bit after the last item");
                let ones = bits.iter().filter(|bit| **bit).count();
                (Some(bits[..processed].to_vec()), ones)
            }
            other => panic!("{other:?} as answers"),
        };
        assert!(ones <= processed, "{ones} ones of {processed}");
        Some(Self { processed, answers, ones })
    }
}
