//! BF.INFO and BF.DEBUG.

use super::read::now_for;
use crate::command::access;
use crate::command::error::{BAD_FIELD, Failure};
use crate::command::float::format_g;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::info_fields::{Field, Fields, tokens};
use crate::command::syntax::KEY;
use crate::policy::limits::max_filter_bytes;
use crate::server::clock;
use crate::server::command_docs::{ArgKind, ArgSpec};
use crate::server::context::Context;
use bloomline_core::host::valkey::ValkeyFilter;
use bloomline_core::host::{AnyFilter, Growth, LayerNumbers};

/// BF.INFO key [field]
pub struct Info;
/// BF.DEBUG key
pub struct Debug;

static TABLE: [Field<AnyFilter>; 8] = [
    Field { token: ArgSpec::choice(c"capacity", c"CAPACITY"), name: c"Capacity", reply: capacity },
    Field { token: ArgSpec::choice(c"size", c"SIZE"), name: c"Size", reply: size },
    Field {
        token: ArgSpec::choice(c"filters", c"FILTERS"),
        name: c"Number of filters",
        reply: layers,
    },
    Field {
        token: ArgSpec::choice(c"items", c"ITEMS"),
        name: c"Number of items inserted",
        reply: items,
    },
    Field {
        token: ArgSpec::choice(c"expansion", c"EXPANSION"),
        name: c"Expansion rate",
        reply: expansion,
    },
    Field { token: ArgSpec::choice(c"error", c"ERROR"), name: c"Error rate", reply: error_rate },
    Field {
        token: ArgSpec::choice(c"tightening", c"TIGHTENING"),
        name: c"Tightening ratio",
        reply: tightening,
    },
    Field {
        token: ArgSpec::choice(c"maxscaledcapacity", c"MAXSCALEDCAPACITY"),
        name: c"Max scaled capacity",
        reply: max_scaled_capacity,
    },
];

/// RedisBloom's fields, in its order: a sixth would break clients.
const OF_REDISBLOOM: &[usize] = &[0, 1, 2, 3, 4];
/// valkey-bloom's fields, in its order. The last two are those of filters that grow.
const OF_VALKEY_BLOOM: &[usize] = &[0, 1, 2, 3, 5, 4, 6, 7];

/// The fields that a filter has, all of which are returned if none is requested.
fn default_fields(filter: &AnyFilter) -> &'static [usize] {
    match (filter.valkey(), filter.growth()) {
        (None, _) => OF_REDISBLOOM,
        (Some(_), Growth::Scaling { .. }) => OF_VALKEY_BLOOM,
        (Some(_), Growth::Fixed) => OF_VALKEY_BLOOM.get(..6).unwrap_or_default(),
    }
}

static FIELDS: Fields<AnyFilter> = Fields {
    all: &TABLE,
    has: |filter, index| default_fields(filter).contains(&index),
    default: default_fields,
};

static TOKENS: [ArgSpec; 8] = tokens(&TABLE);

pub const ARGS: &[ArgSpec] = &[
    KEY,
    ArgSpec { optional: true, ..ArgSpec::required(c"single_value", ArgKind::OneOf(&TOKENS)) },
];

/// Replies with the number of items that all layers together are sized for, without those of
/// expired generations.
pub fn capacity(to: Context, filter: &AnyFilter) {
    to.count(filter.capacity_at(now_for(filter)));
}

/// Replies with the computed number of bytes.
pub fn size(to: Context, filter: &AnyFilter) {
    to.count(filter.size_bytes());
}

pub fn layers(to: Context, filter: &AnyFilter) {
    to.integer(filter.layer_count().into());
}

/// Replies with the number of items that were inserted and are not forgotten.
pub fn items(to: Context, filter: &AnyFilter) {
    to.count(filter.len_at(now_for(filter)));
}

/// Replies with the growth factor; null for a filter that does not grow.
pub fn expansion(to: Context, filter: &AnyFilter) {
    match filter.growth() {
        Growth::Scaling { expansion } => to.integer(expansion.into()),
        Growth::Fixed => to.null(),
    }
}

pub fn error_rate(to: Context, filter: &AnyFilter) {
    to.bulk(format!("{:?}", filter.error_rate()).as_bytes());
}

/// Replies with the tightening ratio of a filter in valkey-bloom's layout that grows.
pub fn tightening(to: Context, filter: &AnyFilter) {
    match filter.valkey() {
        Some(filter) => to.bulk(format!("{:?}", filter.params().tightening).as_bytes()),
        None => to.null(),
    }
}

/// Replies with the capacity that a filter in valkey-bloom's layout can grow to within the limits;
/// null if its first layer exceeds them.
pub fn max_scaled_capacity(to: Context, filter: &AnyFilter) {
    let reach = filter.valkey().map(|filter| {
        ValkeyFilter::reach(filter.spec().capacity, filter.params(), max_filter_bytes())
    });
    match reach {
        Some(Ok(reach)) => to.count(reach.capacity),
        _ => to.null(),
    }
}

impl Handler for Info {
    const ARGS: ArgCount = 2..=3;

    fn run(call: Call) -> Result<(), Failure> {
        FIELDS.reply(call, BAD_FIELD.into())
    }
}

impl Handler for Debug {
    const ARGS: ArgCount = 2..=2;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let filter = &*access::existing::<AnyFilter>(&key)?;
        let layers = filter.layer_numbers();
        call.context.array(1 + layers.len());
        let len = filter.len_at(now_for(filter));
        call.context.bulk(format!("size:{len}").as_bytes());
        let now = filter.windowed().map_or(0, |windowed| windowed.time_at(clock::now()));
        layers.iter().for_each(|layer| call.context.bulk(debug_line(layer, now).as_bytes()));
        Ok(())
    }
}

/// The line of BF.DEBUG for one layer.
fn debug_line(layer: &LayerNumbers, now: u64) -> String {
    let LayerNumbers { bits, hashes, hash_bits, capacity, len, error_rate, generation } = layer;
    let (bytes, ratio) = (bits / 8, format_g(*error_rate));
    let line = format!(
        "bytes:{bytes} bits:{bits} hashes:{hashes} hashwidth:{hash_bits} capacity:{capacity} \
         size:{len} ratio:{ratio}"
    );
    match generation {
        Some((number, opened)) => {
            let age = now.saturating_sub(*opened);
            format!("{line} generation:{number} age:{}", age / 1000)
        }
        None => line,
    }
}
