//! BF.INFO and BF.DEBUG.

use std::ffi::CStr;

use super::general::general;
use super::handler::{Call, Handler};
use super::text::{BAD_FIELD, Failure, NOT_FOUND, WRONG_TYPE};
use crate::bloom::{Filter, Growth};
use crate::data_type::handle::{Lookup, filter};
use crate::server::key::Key;
use crate::server::reply::Context;

/// BF.INFO key [field]
pub struct Info;
/// BF.DEBUG key
pub struct Debug;

/// A field of BF.INFO: the word that asks for it, its name in the reply, its value.
struct Field {
    word: &'static str,
    name: &'static CStr,
    reply: fn(Context, &Filter),
}

/// The five fields in RedisBloom's order. A sixth would break clients.
static FIELDS: [Field; 5] = [
    Field { word: "CAPACITY", name: c"Capacity", reply: |to, filter| to.count(filter.capacity()) },
    Field { word: "SIZE", name: c"Size", reply: |to, filter| to.count(filter.size_bytes()) },
    Field {
        word: "FILTERS",
        name: c"Number of filters",
        reply: |to, filter| to.integer(filter.layer_count().into()),
    },
    Field { word: "ITEMS", name: c"Number of items inserted", reply: |to, filter| to.count(filter.len()) },
    Field {
        word: "EXPANSION",
        name: c"Expansion rate",
        reply: |to, filter| match filter.spec().growth {
            Growth::Scaling { expansion } => to.integer(expansion.into()),
            Growth::Fixed => to.null(),
        },
    },
];

impl Handler for Info {
    const LEAST: usize = 2;
    const MOST: usize = 3;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        let filter = existing(filter(&key))?;
        let pair = |field: &Field| {
            call.context.simple(field.name);
            (field.reply)(call.context, filter);
        };
        let Some(word) = call.rest.get(0) else {
            call.context.map(FIELDS.len());
            FIELDS.iter().for_each(pair);
            return Ok(());
        };
        let field = FIELDS.iter().find(|field| word.is(field.word)).ok_or(BAD_FIELD)?;
        if call.context.has_maps() {
            call.context.map(1);
            pair(field);
        } else {
            // One value, and not its name: what clients of RESP2 take apart.
            call.context.array(1);
            (field.reply)(call.context, filter);
        }
        Ok(())
    }
}

impl Handler for Debug {
    const LEAST: usize = 2;
    const MOST: usize = 2;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        let filter = existing(filter(&key))?;
        let layers = filter.layer_count();
        call.context.array(1 + layers as usize);
        call.context.bulk(format!("size:{}", filter.len()).as_bytes());
        for (index, (layer, error)) in filter.layers().zip(filter.layer_errors()).enumerate() {
            let geometry = layer.geometry();
            let is_newest = index + 1 == layers as usize;
            let len = if is_newest { filter.newest_len() } else { layer.capacity() };
            let line = format!(
                "bytes:{} bits:{} hashes:{} hashwidth:128 capacity:{} size:{len} ratio:{}",
                geometry.bytes(),
                geometry.bits(),
                geometry.hashes(),
                layer.capacity(),
                general(error),
            );
            call.context.bulk(line.as_bytes());
        }
        Ok(())
    }
}

/// The filter that a call can't do without.
fn existing<T>(lookup: Lookup<T>) -> Result<T, Failure> {
    match lookup {
        Lookup::Found(filter) => Ok(filter),
        Lookup::Missing => Err(NOT_FOUND.into()),
        Lookup::WrongType => Err(WRONG_TYPE.into()),
    }
}
