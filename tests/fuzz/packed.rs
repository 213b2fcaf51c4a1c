//! Packed items: calls of BF.BULKADD and BF.BULKEXISTS, and what their replies say.

use arbitrary::{Result, Unstructured};
use bloomline_harness::show;
use redis::Value;

use crate::words::Words;

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
        // An item that contains LF makes the call another one; an empty one is only an empty line.
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

/// The items of a call that the server has accepted, read byte by byte; none for an empty line.
fn places(arguments: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    let is = |word: &Vec<u8>, name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let rest = match arguments {
        [count, rest @ ..] if is(count, "COUNT") => rest,
        rest => rest,
    };
    match rest {
        [form, width, data, ..] if is(form, "FIXED") => {
            let width = String::from_utf8_lossy(width).parse().expect("a width");
            assert_eq!(data.len() % width, 0, "bytes after the last item");
            data.chunks(width).map(|item| Some(item.to_vec())).collect()
        }
        [form, data, ..] if is(form, "PREFIXED") => {
            let (mut items, mut rest) = (Vec::new(), &data[..]);
            while !rest.is_empty() {
                let len = u32::from_le_bytes(rest[..4].try_into().expect("a length")) as usize;
                items.push(Some(rest[4..4 + len].to_vec()));
                rest = &rest[4 + len..];
            }
            items
        }
        [form, data, ..] if is(form, "LINES") => {
            let mut lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
            if lines.last().is_some_and(|last| last.is_empty()) {
                lines.pop();
            }
            let item = |line: &&[u8]| {
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                (!line.is_empty()).then(|| line.to_vec())
            };
            lines.iter().map(item).collect()
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
    /// The items of a call, and what the reply to it says of them; none if it is an error that says
    /// nothing of the items.
    pub fn read(arguments: &[Vec<u8>], reply: &Value) -> Option<(Words, Self)> {
        let (processed, second, is_refused) = match reply {
            Value::ServerError(_) => {
                let numbers = refused_count(&show(reply))?;
                (numbers[0] - 1, Value::Int(numbers[2] as i64), true)
            }
            Value::Array(parts) => match &parts[..] {
                [Value::Int(first), second] => (*first as usize, second.clone(), false),
                [Value::Int(first), second @ Value::BulkString(_), Value::ServerError(_)] => {
                    (*first as usize, second.clone(), true)
                }
                other => panic!("{other:?} as a reply"),
            },
            other => panic!("{other:?} as a reply"),
        };
        let places = places(arguments);
        let all = places.len();
        // BF.BULKADD ends before a refused item, CF.BULKADD tries the next ones.
        assert!(
            processed == all || is_refused && processed < all,
            "{processed} of {all}, refused: {is_refused}"
        );
        let (answers, ones) = match second {
            Value::Int(ones) => (None, ones as usize),
            Value::BulkString(bytes) => {
                let bits: Vec<bool> = (0..8 * bytes.len())
                    .map(|at| bytes[at / 8] & (0x80 >> (at % 8)) != 0)
                    .collect();
                assert_eq!(bytes.len(), processed.div_ceil(8), "bytes for {processed} items");
                assert!(!bits[processed..].contains(&true), "a bit after the last item");
                let of_items = |(place, bit): (&Option<_>, bool)| match place {
                    Some(_) => Some(bit),
                    None => {
                        assert!(!bit, "an empty line has the answer 1");
                        None
                    }
                };
                let ones = bits.iter().filter(|bit| **bit).count();
                (Some(places.iter().zip(bits).take(processed).filter_map(of_items).collect()), ones)
            }
            other => panic!("{other:?} as answers"),
        };
        let processed = places[..processed].iter().flatten().count();
        assert!(ones <= processed, "{ones} ones of {processed}");
        Some((places.into_iter().flatten().collect(), Self { processed, answers, ones }))
    }
}

/// The numbers in the error of a refused item of a call with COUNT: that of the item, all items,
/// new ones, and those before it.
fn refused_count(error: &str) -> Option<[usize; 4]> {
    let (_, counts) = error.split_once(": ").filter(|_| error.ends_with(" before it were new"))?;
    let numbers: Vec<usize> = counts.split(' ').filter_map(|word| word.parse().ok()).collect();
    Some(numbers.try_into().expect("four numbers"))
}
