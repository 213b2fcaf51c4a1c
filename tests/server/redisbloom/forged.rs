//! Headers of RedisBloom's layout, made from a real one with other numbers and any number of links.
//!
//! ```text
//! 0      8       12       16      20 + 53 links
//! items  links   options  growth  links...
//!
//! 0      8     16    24     32             40      44        52
//! bytes  bits  len   error  bits_per_item  hashes  capacity  log2_bits
//! ```

use bloomline_harness::{Client, show};

/// Bytes before the first link.
const FIRST: usize = 20;

/// The header of a filter that is made with these parameters of BF.RESERVE and deleted again.
pub fn header(client: &mut Client, parameters: &str) -> Vec<u8> {
    client.ok(&format!("BF.RESERVE forged {parameters} LAYOUT redisbloom"));
    let (_, header) = client.scandump("forged", 0);
    assert_eq!(client.ask("DEL forged"), ":1");
    header
}

/// A header of one link, changed so that the layer has this number of bytes.
pub fn with_layer_of(mut header: Vec<u8>, bytes: u64) -> Vec<u8> {
    put(&mut header, FIRST, bytes);
    put(&mut header, FIRST + 8, bytes * 8);
    header
}

/// A header of one link, with one copy of the link per element of `lens`, the number of its items.
pub fn with_links(header: &[u8], lens: &[u64]) -> Vec<u8> {
    let (first, link) = header.split_at(FIRST);
    let mut forged = first.to_vec();
    put(&mut forged, 0, lens.iter().fold(0, |sum, len| sum.saturating_add(*len)));
    forged[8..12].copy_from_slice(&(lens.len() as u32).to_le_bytes());
    for len in lens {
        let start = forged.len();
        forged.extend(link);
        put(&mut forged, start + 16, *len);
    }
    forged
}

/// Loads a header under a key; returns the reply as text.
pub fn load(client: &mut Client, key: &str, header: &[u8]) -> String {
    show(&client.run(&[&b"BF.LOADCHUNK"[..], key.as_bytes(), b"1", header]))
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}
