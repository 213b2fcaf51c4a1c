//! BF.INFO and BF.DEBUG.

use std::ffi::CStr;

use super::general::general;
use super::handler::{Call, Handler};
use super::text::{BAD_FIELD, Failure, NOT_FOUND, WRONG_TYPE};
use crate::data_type::handle::{Lookup, filter};
use crate::server::key::Key;
use crate::server::reply::Context;
use crate::server::setting::LAYOUTS;
use bloomline_core::bloomline::BlockedLayer;
use bloomline_core::layer::Layer;
use bloomline_core::redisbloom::{ClassicFilter, ClassicLayer};
use bloomline_core::{AnyFilter, Filter, Growth, Layout};

/// BF.INFO key [field]
pub struct Info;
/// BF.DEBUG key
pub struct Debug;

/// A field of BF.INFO: the word that asks for it, its name in the reply, its value.
struct Field {
    word: &'static str,
    name: &'static CStr,
    reply: fn(Context, &AnyFilter),
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
    Field {
        word: "ITEMS",
        name: c"Number of items inserted",
        reply: |to, filter| to.count(filter.len()),
    },
    Field {
        word: "EXPANSION",
        name: c"Expansion rate",
        reply: |to, filter| match filter.growth() {
            Growth::Scaling { expansion } => to.integer(expansion.into()),
            Growth::Fixed => to.null(),
        },
    },
];

/// Fields that are answered only when asked for by name.
static MORE_FIELDS: [Field; 4] = [
    Field {
        word: "ERROR",
        name: c"Error rate",
        reply: |to, filter| to.bulk(format!("{:?}", filter.error_rate()).as_bytes()),
    },
    Field {
        word: "LAYOUT",
        name: c"Layout",
        reply: |to, filter| to.bulk(layout_name(filter).as_bytes()),
    },
    Field { word: "FILL", name: c"Fill", reply: |to, filter| layer_numbers(to, &filter.fills()) },
    Field {
        word: "FPRATE",
        name: c"False positive rate",
        reply: |to, filter| layer_numbers(to, &filter.fp_rates()),
    },
];

fn layout_name(filter: &AnyFilter) -> &'static str {
    let index = match filter.layout() {
        Layout::Bloomline => 0,
        Layout::RedisBloom => 1,
    };
    LAYOUTS.get(index).copied().unwrap_or_default()
}

/// An array with a number for each layer, oldest first.
fn layer_numbers(to: Context, numbers: &[f64]) {
    to.array(numbers.len());
    numbers.iter().for_each(|&number| to.bulk(general(number).as_bytes()));
}

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
        let field =
            FIELDS.iter().chain(&MORE_FIELDS).find(|field| word.is(field.word)).ok_or(BAD_FIELD)?;
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
        let lines = match filter {
            AnyFilter::Bloomline(filter) => debug_lines(filter),
            AnyFilter::RedisBloom(chain) => debug_lines_of_chain(chain),
        };
        call.context.array(1 + lines.len());
        call.context.bulk(format!("size:{}", filter.len()).as_bytes());
        lines.iter().for_each(|line| call.context.bulk(line.as_bytes()));
        Ok(())
    }
}

fn debug_lines(filter: &Filter) -> Vec<String> {
    let layers = filter.layers_with_len().zip(filter.layer_errors());
    let line = |((layer, len), error)| {
        let layer: &BlockedLayer = layer;
        let (geometry, capacity) = (layer.geometry(), layer.capacity());
        let (bytes, bits, hashes) = (geometry.bytes(), geometry.bits(), geometry.hashes());
        debug_line(bytes, bits, hashes, 128, capacity, len, error)
    };
    layers.map(line).collect()
}

fn debug_lines_of_chain(chain: &ClassicFilter) -> Vec<String> {
    let width = if chain.common().options.is_64_bit() { 64 } else { 32 };
    let line = |(link, len): (&ClassicLayer, u64)| {
        let shape = link.shape();
        debug_line(
            shape.bits / 8,
            shape.bits,
            shape.hashes,
            width,
            shape.capacity,
            len,
            shape.error,
        )
    };
    chain.layers_with_len().map(line).collect()
}

fn debug_line(
    bytes: u64,
    bits: u64,
    hashes: u32,
    width: u32,
    capacity: u64,
    len: u64,
    error: f64,
) -> String {
    let ratio = general(error);
    format!(
        "bytes:{bytes} bits:{bits} hashes:{hashes} hashwidth:{width} capacity:{capacity} size:{len} ratio:{ratio}"
    )
}

/// The filter that a call can't do without.
pub fn existing<T>(lookup: Lookup<T>) -> Result<T, Failure> {
    match lookup {
        Lookup::Found(filter) => Ok(filter),
        Lookup::Missing => Err(NOT_FOUND.into()),
        Lookup::WrongType => Err(WRONG_TYPE.into()),
    }
}
