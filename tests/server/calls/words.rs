//! The arguments of calls, from random bytes.

use arbitrary::{Result, Unstructured};

/// The arguments of one command, beginning with its name.
pub type Words = Vec<Vec<u8>>;

pub fn word(text: impl ToString) -> Vec<u8> {
    text.to_string().into_bytes()
}

/// One of the values that are usual, or, in one case of eight, of those that are not.
pub fn number(u: &mut Unstructured, usual: &[&str], others: &[&str]) -> Result<Vec<u8>> {
    const JUNK: [&str; 15] = [
        "",
        "nan",
        "x",
        "0x10",
        "1e",
        " 1",
        "1 ",
        "+1",
        "01",
        "1.0",
        "1e3",
        "--1",
        "-1",
        "0",
        "18446744073709551616",
    ];
    Ok(word(match u.int_in_range(0..=15u8)? {
        0 => u.choose(&JUNK)?,
        1 => u.choose(others)?,
        _ => u.choose(usual)?,
    }))
}

pub fn item(u: &mut Unstructured) -> Result<Vec<u8>> {
    Ok(match u.int_in_range(0..=7u8)? {
        0 => u.bytes(u.len().min(9))?.to_vec(),
        1 => vec![b'x'; u.int_in_range(0..=300)?],
        _ => word(u.int_in_range(0..=400u32)?),
    })
}

pub fn items(u: &mut Unstructured) -> Result<Words> {
    if u.ratio(1, 4)? {
        // So many that layers fill.
        let (first, count) = (u.int_in_range(0..=2_000u32)?, u.int_in_range(1..=300u32)?);
        return Ok((first..first + count).map(word).collect());
    }
    (0..u.int_in_range(1..=5u8)?).map(|_| item(u)).collect()
}

/// An iterator of SCANDUMP or LOADCHUNK.
pub fn iterator(u: &mut Unstructured) -> Result<Vec<u8>> {
    number(u, &["0", "1", "2", "5", "100", "145", "100000"], &["-2", "9223372036854775807"])
}
