//! Filters of as many layers or tables as calls, or a forged header, can make.

use std::ops::Range;

use redis::{Cmd, cmd};

use crate::bits::{layer_bytes, load};
use crate::result::Result;
use crate::sample::blocked;
use crate::server::{Server, command};

/// The key of the filter.
pub const KEY: &str = "many";

/// Options of BF.RESERVE for a filter whose layers have one item each.
pub const OWN: &str = "0.01 1 EXPANSION 1 SEED 1";
/// The rate of each layer is half of that of the layer before it, down to the least number.
pub const REDISBLOOM: &str = "0.01 1 EXPANSION 1 LAYOUT REDISBLOOM";
/// An item has 998 bits in each layer.
pub const VALKEY: &str = "1e-300 1 EXPANSION 1 TIGHTENING 0.9999999";

/// What makes a filter.
pub type Make = Box<dyn Fn(&mut Server) -> Result<()>>;

/// Items of four bytes.
pub fn items(numbers: Range<u32>) -> Vec<u8> {
    numbers.flat_map(u32::to_be_bytes).collect()
}

/// An item of one byte that is not inserted.
pub const ABSENT: u8 = 0x80;

/// A call of `count` times the same item of one byte, the shortest there is.
pub fn call_of(name: &str, item: u8, count: usize) -> Cmd {
    let mut call = command(&format!("{name} {KEY} FIXED 1"));
    call.arg(vec![item; count]).arg("COUNT");
    call
}

/// The item whose lookup takes longest, of 128 that are not inserted.
pub fn slowest_item(server: &mut Server, name: &str) -> Result<u8> {
    let (mut slowest, mut longest) = (ABSENT, 0.0);
    for item in ABSENT..=u8::MAX {
        let time = blocked(server, &call_of(name, item, 1))?;
        if time > longest {
            (slowest, longest) = (item, time);
        }
    }
    Ok(slowest)
}

/// A filter that grows to this many layers.
pub fn layers(options: &'static str, layers: u32) -> Make {
    Box::new(move |server| {
        server.run(&format!("BF.RESERVE {KEY} {options}"))?;
        let mut next = 0;
        loop {
            let [held]: [u32; 1] =
                command(&format!("BF.INFO {KEY} FILTERS")).query(&mut server.connection)?;
            if held >= layers {
                return Ok(());
            }
            if next > 3 * layers {
                return Err(format!("{held} layers after {next} items").into());
            }
            // Some items are false positives.
            let count = layers - held;
            add(server, next..next + count)?;
            next += count;
        }
    })
}

/// Adds items, of which the last ones are refused if the filter cannot grow further.
fn add(server: &mut Server, numbers: Range<u32>) -> Result<()> {
    let mut call = command(&format!("BF.BULKADD {KEY} FIXED 4"));
    match call.arg(items(numbers)).exec(&mut server.connection) {
        Err(error) if error.to_string().contains("problem inserting into filter") => Ok(()),
        answer => Ok(answer?),
    }
}

/// A windowed filter of this many generations of 65 layers, the most there can be.
pub fn generations(count: u32) -> Make {
    const ITEMS: u32 = 150;
    Box::new(move |server| {
        let older = count - 1;
        server.run(&format!("BF.RESERVE {KEY} 0.01 {older} GENERATIONS {older} EXPANSION 1"))?;
        for generation in 0..count {
            add(server, generation * ITEMS..(generation + 1) * ITEMS)?;
            if generation < older {
                server.run(&format!("BF.ROTATE {KEY}"))?;
            }
        }
        Ok(())
    })
}

/// A filter in RedisBloom's layout whose header repeats one layer, with 1,021 bits per item.
pub fn forged_layers(layers: u32) -> Make {
    /// Bytes of a header before its layers.
    const FIXED: usize = 20;
    Box::new(move |server| {
        server.run("BF.RESERVE probe 1e-307 1 EXPANSION 1 LAYOUT REDISBLOOM")?;
        let mut dump = cmd("BF.SCANDUMP");
        let (_, header): (u64, Vec<u8>) = dump.arg("probe").arg(0).query(&mut server.connection)?;
        server.run("DEL probe")?;
        let mut forged = header.get(..FIXED).ok_or("the header is too short")?.to_vec();
        // See docs/format.md.
        forged.get_mut(8..12).ok_or("no layers")?.copy_from_slice(&layers.to_le_bytes());
        (0..layers).for_each(|_| forged.extend(header.iter().skip(FIXED)));
        load(KEY, 1, &forged).exec(&mut server.connection)?;
        fill(server)
    })
}

/// A filter that grows to this many layers, and whose bits are then loaded.
pub fn filled_layers(options: &'static str, count: u32) -> Make {
    Box::new(move |server| {
        layers(options, count)(server)?;
        fill(server)
    })
}

/// Sets all bits but the first of each layer.
fn fill(server: &mut Server) -> Result<()> {
    let mut end = 0;
    for bytes in layer_bytes(server, KEY)? {
        let mut bits = vec![u8::MAX; bytes as usize];
        bits.iter_mut().take(1).for_each(|byte| *byte = 0xfe);
        end += bytes;
        load(KEY, end + 1, &bits).exec(&mut server.connection)?;
    }
    Ok(())
}

/// A cuckoo filter in RedisBloom's layout that a call with copies of one item makes grow to this
/// many tables.
pub fn copies(tables: usize) -> Make {
    /// Copies that a table of two buckets takes.
    const EACH: usize = 2 * 255;
    Box::new(move |server| {
        server
            .run(&format!("CF.RESERVE {KEY} 510 BUCKETSIZE 255 EXPANSION 1 LAYOUT REDISBLOOM"))?;
        let mut call = command(&format!("CF.BULKADD {KEY} FIXED 1"));
        Ok(call.arg(vec![b'x'; EACH * tables]).exec(&mut server.connection)?)
    })
}

/// A cuckoo filter of this many tables of the largest buckets, by a header of 38 bytes.
pub fn forged_tables(tables: u16) -> Make {
    Box::new(move |server| {
        let numbers = [0, 2, 0, u64::from(tables)].map(u64::to_le_bytes).concat();
        let header = [numbers, [255u16, 20, 1].map(u16::to_le_bytes).concat()].concat();
        let mut load = cmd("CF.LOADCHUNK");
        Ok(load.arg(KEY).arg(1).arg(header).exec(&mut server.connection)?)
    })
}
