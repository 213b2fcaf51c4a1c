//! Items packed in one string, as BF.BULKADD and BF.BULKEXISTS take them.

use std::ffi::CStr;
use std::num::NonZeroUsize;

use super::error::{Failure, MISPLACED_COUNT, unknown_argument};
use super::lines::Lines;
use crate::server::args::Args;

/// How items are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `FIXED width`: items of this width in bytes, one after the other.
    Fixed(NonZeroUsize),
    /// `PREFIXED`: each item behind its length, 32 bits, little-endian.
    Prefixed,
    /// `LINES`: an item per line, which ends with LF or CRLF; the last LF may be left out. An empty
    /// line is no item.
    Lines,
}

/// Bytes of a length before an item.
const PREFIX_BYTES: usize = size_of::<u32>();

/// Items in one string, which is a whole number of them. Empty lines may stand between them.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    form: Form,
    data: &'a [u8],
    len: usize,
    empty_lines: usize,
}

/// The items of a string in turn, without a copy of any. It ends before bytes that are no item.
#[derive(Clone, Debug)]
pub struct PackedItems<'a> {
    form: Form,
    rest: &'a [u8],
}

/// What a bulk call replies: all answers, or their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkReply {
    /// A bit per item, and one per empty line.
    Bitmap,
    /// `COUNT`: the number of ones.
    Count,
}

/// Parses `FIXED width data | PREFIXED data | LINES data`, and `COUNT` before or after it.
///
/// Before it, because `redis-cli -x` appends the data as the last argument.
///
/// # Errors
///
/// The error reply: another form, or data that is not a whole number of items.
pub fn parse(args: Args<'_>) -> Result<(Packed<'_>, BulkReply), Failure> {
    let (args, first) = match args.get(0) {
        Some(word) if word.is("COUNT") => (args.skip(1), BulkReply::Count),
        _ => (args, BulkReply::Bitmap),
    };
    let form = args.get(0).ok_or(Failure::Arity)?;
    let (form, rest) = if form.is("FIXED") {
        let width = args.get(1).ok_or(Failure::Arity)?.unsigned();
        let width = width.and_then(|width| usize::try_from(width).ok()).and_then(NonZeroUsize::new);
        (Form::Fixed(width.ok_or(c"ERR width must be a positive integer")?), args.skip(2))
    } else if form.is("PREFIXED") {
        (Form::Prefixed, args.skip(1))
    } else if form.is("LINES") {
        (Form::Lines, args.skip(1))
    } else {
        return Err(c"ERR items must be packed as FIXED width, PREFIXED or LINES".into());
    };
    let data = rest.get(0).ok_or(Failure::Arity)?;
    let reply = match (rest.get(1), rest.len()) {
        (None, _) => first,
        (Some(word), 2) if word.is("COUNT") && first == BulkReply::Bitmap => BulkReply::Count,
        (Some(_), 2) if data.is("COUNT") => return Err(MISPLACED_COUNT.into()),
        (Some(word), 2) => return Err(unknown_argument(word)),
        _ => return Err(Failure::Arity),
    };
    Ok((Packed::new(form, data.bytes())?, reply))
}

impl<'a> Packed<'a> {
    /// The items of a string.
    ///
    /// # Errors
    ///
    /// The error reply: the string is not a whole number of items.
    pub fn new(form: Form, data: &'a [u8]) -> Result<Self, Failure> {
        let (mut len, mut empty_lines) = (0, 0);
        match form {
            Form::Fixed(width) => {
                len = data.len() / width;
                if data.len() % width != 0 {
                    let bytes = data.len();
                    return Err(Failure::Formatted(format!(
                        "ERR the data has {bytes} bytes, which is no multiple of {width}"
                    )));
                }
            }
            Form::Prefixed => {
                let mut items = PackedItems { form, rest: data };
                len = items.by_ref().count();
                let (number, left) = (len + 1, items.rest.len());
                if left > 0 {
                    return Err(Failure::Formatted(format!(
                        "ERR item {number} does not fit the {left} bytes that are left"
                    )));
                }
            }
            Form::Lines => {
                for line in Lines::of(data) {
                    len += usize::from(!line.is_empty());
                    empty_lines += usize::from(line.is_empty());
                }
            }
        }
        Ok(Self { form, data, len, empty_lines })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of answers: one per item, and one per empty line.
    pub fn answers(&self) -> usize {
        self.len + self.empty_lines
    }

    /// The most bytes that [`Form::pack`] makes of some of the items: the last line may get an LF.
    pub fn most_bytes(&self) -> usize {
        self.data.len() + 1
    }

    /// All lines if one of them is empty; otherwise none, since each item is an answer then.
    pub fn lines_with_empty(&self) -> Lines<'a> {
        Lines::of(if self.empty_lines > 0 { self.data } else { &[] })
    }

    /// How the items are packed.
    pub fn form(&self) -> Form {
        self.form
    }

    pub fn iter(&self) -> PackedItems<'a> {
        PackedItems { form: self.form, rest: self.data }
    }
}

impl Form {
    pub fn name(self) -> &'static CStr {
        match self {
            Self::Fixed(_) => c"FIXED",
            Self::Prefixed => c"PREFIXED",
            Self::Lines => c"LINES",
        }
    }

    /// What an answer stands for.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Fixed(_) | Self::Prefixed => "item",
            Self::Lines => "line",
        }
    }

    /// The width of each item, if all are equal.
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Fixed(width) => Some(width.get()),
            Self::Prefixed | Self::Lines => None,
        }
    }

    /// Packs items of a call into an empty buffer; see [`Packed::most_bytes`].
    pub fn pack<'a>(self, items: impl Iterator<Item = &'a [u8]>, data: &mut Vec<u8>) {
        for item in items {
            if self == Self::Prefixed {
                // An item of a call is shorter than 2^32 bytes: it came with such a length.
                data.extend((item.len() as u32).to_le_bytes());
            }
            data.extend(item);
            if self == Self::Lines {
                // The last CR of a line belongs to its end, not to the item.
                data.extend(if item.ends_with(b"\r") { &b"\r\n"[..] } else { b"\n" });
            }
        }
    }
}

impl<'a> Iterator for PackedItems<'a> {
    type Item = &'a [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (item, rest) = match self.form {
            Form::Fixed(width) => self.rest.split_at_checked(width.get())?,
            Form::Prefixed => {
                let (len, rest) = self.rest.split_first_chunk::<PREFIX_BYTES>()?;
                rest.split_at_checked(u32::from_le_bytes(*len) as usize)?
            }
            Form::Lines => {
                let mut lines = Lines::of(self.rest);
                // Not `find`: a closure is not inlined into the core's backends.
                loop {
                    let line = lines.next();
                    self.rest = lines.rest();
                    if line.is_none_or(|line| !line.is_empty()) {
                        return line;
                    }
                }
            }
        };
        self.rest = rest;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    const FOUR: Form = Form::Fixed(NonZeroUsize::new(4).unwrap());

    fn packed(form: Form, items: &[&[u8]]) -> Vec<u8> {
        let mut data = Vec::new();
        form.pack(items.iter().copied(), &mut data);
        data
    }

    /// The items of a string; none if it is not a whole number of them.
    fn items(form: Form, data: &[u8]) -> Option<Vec<&[u8]>> {
        let packed = Packed::new(form, data).ok()?;
        let items: Vec<_> = packed.iter().collect();
        assert_eq!(items.len(), packed.len());
        let empty = packed.lines_with_empty().filter(|line| line.is_empty()).count();
        assert_eq!(packed.answers(), items.len() + empty);
        Some(items)
    }

    #[test]
    fn each_form_gives_the_items_that_were_packed() {
        let all: [&[u8]; 4] = [b"user", b"a\r\nb", b"\0\0\0\0", b"1234"];
        for form in [FOUR, Form::Prefixed] {
            assert_eq!(items(form, &packed(form, &all)).unwrap(), all);
        }
        let empty: [&[u8]; 2] = [b"", b""];
        assert_eq!(items(Form::Prefixed, &packed(Form::Prefixed, &empty)).unwrap(), empty);
    }

    #[test]
    fn lines_end_with_lf_or_crlf() {
        let two: [&[u8]; 2] = [b"a", b"bc"];
        for data in ["a\nbc\n", "a\nbc", "a\r\nbc\r\n", "a\r\nbc"] {
            assert_eq!(items(Form::Lines, data.as_bytes()).unwrap(), two, "{data:?}");
        }
        // Only one CR belongs to the end of a line.
        assert_eq!(items(Form::Lines, b"a\r\r\n").unwrap(), [b"a\r"]);
        let all: [&[u8]; 4] = [b"a\r", b"\r", b"a\rb", b"x y"];
        let data = packed(Form::Lines, &all);
        assert_eq!(data, b"a\r\r\n\r\r\na\rb\nx y\n");
        assert_eq!(items(Form::Lines, &data).unwrap(), all);
    }

    #[test]
    fn lines_of_every_length_are_found() {
        for len in 1..200 {
            // Bytes that differ from a line feed by one bit, by the highest, and by more.
            let other: Vec<u8> = (0..len).map(|at| [0x0b, 0x8a, b'x'][at % 3]).collect();
            let data = [&other[..], b"\n", &other[..], b"\n\x0b"].concat();
            assert_eq!(items(Form::Lines, &data).unwrap(), [&other[..], &other[..], b"\x0b"]);
        }
    }

    #[test]
    fn packing_takes_no_more_bytes_than_were_requested() {
        for (form, data) in [
            (FOUR, &b"12345678"[..]),
            (Form::Prefixed, b"\x01\0\0\0a\0\0\0\0"),
            (Form::Lines, b"a"),
            (Form::Lines, b"a\nb\r\r"),
            (Form::Lines, b"\n\na\r\r\nb\r"),
        ] {
            let items = Packed::new(form, data).unwrap();
            let mut packed = Vec::with_capacity(items.most_bytes());
            let room = packed.capacity();
            form.pack(items.iter(), &mut packed);
            assert!(packed.len() <= items.most_bytes(), "{form:?} {data:?}");
            assert_eq!(packed.capacity(), room);
        }
    }

    #[test]
    fn no_data_is_no_item() {
        for form in [FOUR, Form::Prefixed, Form::Lines] {
            assert!(items(form, b"").unwrap().is_empty());
        }
    }

    #[test]
    fn data_that_is_no_whole_number_of_items_is_refused() {
        let prefixed = packed(Form::Prefixed, &[b"user1", b""]);
        for len in (1..prefixed.len()).filter(|&len| len != 9) {
            assert!(items(Form::Prefixed, &prefixed[..len]).is_none(), "{len} bytes");
        }
        for data in ["12345", "1", "1234567"] {
            assert!(items(FOUR, data.as_bytes()).is_none(), "{data:?}");
        }
    }

    #[test]
    fn empty_lines_have_an_answer_and_are_no_items() {
        // The data, the number of its lines, and its items with a blank between them.
        for (data, lines, expected) in [
            ("\n", 1, ""),
            ("\r", 1, ""),
            ("\r\n\n\r", 3, ""),
            ("a\n\n", 2, "a"),
            ("\na", 2, "a"),
            ("a\n\r\nb", 3, "a b"),
            ("\n\na\n\n\nb\nc\n\r", 8, "a b c"),
            ("a\n\r\r\n", 2, "a \r"),
        ] {
            let found = items(Form::Lines, data.as_bytes()).unwrap();
            assert_eq!(found.join(&b' '), expected.as_bytes(), "{data:?}");
            assert_eq!(Packed::new(Form::Lines, data.as_bytes()).unwrap().answers(), lines);
        }
        assert!(Packed::new(Form::Lines, b"a\nb").unwrap().lines_with_empty().is_over());
    }
}
