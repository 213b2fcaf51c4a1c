//! BF.INFO and BF.DEBUG.

use std::{fmt, iter};

use crate::command::access;
use crate::command::error::{BAD_FIELD, Failure};
use crate::command::fields::{Field, Fields, tokens};
use crate::command::float::format_g;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::read::now_for;
use crate::command::syntax::KEY;
use crate::policy::setting::layout_name;
use crate::server::clock;
use crate::server::command_docs::{ArgSpec, Kind};
use crate::server::context::Context;
use bloomline_core::host::redisbloom::{ClassicFilter, ClassicLayer};
use bloomline_core::host::{AnyFilter, Filter, Growth, LayerRef, Window, WindowedFilter};

/// BF.INFO key [field]
pub struct Info;
/// BF.DEBUG key
pub struct Debug;

/// The fields of BF.INFO, in RedisBloom's order. Only the first five are returned if none is
/// requested: a sixth would break clients.
static TABLE: [Field<AnyFilter>; 14] = [
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
    Field { token: ArgSpec::choice(c"layout", c"LAYOUT"), name: c"Layout", reply: layout },
    Field {
        token: ArgSpec::choice(c"fill", c"FILL"),
        name: c"Fill",
        reply: |to, filter| layer_numbers(to, &filter.fills()),
    },
    Field {
        token: ArgSpec::choice(c"fprate", c"FPRATE"),
        name: c"False positive rate",
        reply: |to, filter| layer_numbers(to, &filter.fp_rates()),
    },
    Field { token: ArgSpec::choice(c"window", c"WINDOW"), name: c"Window", reply: window },
    Field {
        token: ArgSpec::choice(c"generations", c"GENERATIONS"),
        name: c"Generations",
        reply: generations,
    },
    Field {
        token: ArgSpec::choice(c"oldest", c"OLDEST"),
        name: c"Oldest generation",
        reply: oldest,
    },
    Field {
        token: ArgSpec::choice(c"newest", c"NEWEST"),
        name: c"Newest generation",
        reply: newest,
    },
    Field {
        token: ArgSpec::choice(c"estimate", c"ESTIMATE"),
        name: c"Estimated number of items",
        reply: |to, filter| {
            let estimate = filter.estimate();
            to.array(2);
            to.count(estimate.items.round() as u64);
            to.count(estimate.standard_error().ceil() as u64);
        },
    },
];

static FIELDS: Fields<AnyFilter> = Fields { all: &TABLE, default: 5 };

static TOKENS: [ArgSpec; 14] = tokens(&TABLE);

/// The arguments of the command.
pub const ARGS: &[ArgSpec] =
    &[KEY, ArgSpec { optional: true, ..ArgSpec::required(c"single_value", Kind::OneOf(&TOKENS)) }];

/// Replies with the number of items that all layers together are sized for.
pub fn capacity(to: Context, filter: &AnyFilter) {
    to.count(filter.capacity());
}

/// Replies with the computed number of bytes.
pub fn size(to: Context, filter: &AnyFilter) {
    to.count(filter.size_bytes());
}

/// Replies with the number of layers.
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

/// Replies with the target rate.
pub fn error_rate(to: Context, filter: &AnyFilter) {
    to.bulk(format!("{:?}", filter.error_rate()).as_bytes());
}

/// Replies with the name of the layout.
pub fn layout(to: Context, filter: &AnyFilter) {
    to.bulk(layout_name(filter.layout()).as_bytes());
}

/// Replies with the window in seconds, `LAST` or `MANUAL`; null for a filter without a window.
pub fn window(to: Context, filter: &AnyFilter) {
    match filter.windowed().map(|windowed| windowed.spec().window) {
        Some(Window::Time { millis }) => to.count(millis / 1000),
        Some(Window::Last) => to.bulk(b"LAST"),
        Some(Window::Manual) => to.bulk(b"MANUAL"),
        None => to.null(),
    }
}

/// Replies with the specified number of older generations.
pub fn generations(to: Context, filter: &AnyFilter) {
    number(to, filter, |windowed| windowed.spec().generations.into());
}

/// Replies with the time at which the oldest generation was opened.
pub fn oldest(to: Context, filter: &AnyFilter) {
    number(to, filter, |windowed| {
        windowed.generations().next().map_or(0, |(_, oldest)| oldest.opened())
    });
}

/// Replies with the time at which the newest generation was opened.
pub fn newest(to: Context, filter: &AnyFilter) {
    number(to, filter, |windowed| windowed.newest().opened());
}

/// Replies with a number of a windowed filter; null for other filters.
pub fn number(to: Context, filter: &AnyFilter, of: impl Fn(&WindowedFilter) -> u64) {
    match filter.windowed() {
        Some(windowed) => to.count(of(windowed)),
        None => to.null(),
    }
}

/// Replies with an array of one number per layer, oldest first.
pub fn layer_numbers(to: Context, numbers: &[f64]) {
    to.array(numbers.len());
    numbers.iter().for_each(|&number| to.bulk(format_g(number).as_bytes()));
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
        let filter: &AnyFilter = access::existing(&key)?;
        let lines = match filter {
            AnyFilter::Bloomline(filter) => bloomline_lines(filter),
            AnyFilter::Windowed(filter) => windowed_lines(filter),
            AnyFilter::RedisBloom(filter) => redisbloom_lines(filter),
        };
        call.context.array(1 + lines.len());
        let len = filter.len_at(now_for(filter));
        call.context.bulk(format!("size:{len}").as_bytes());
        lines.iter().for_each(|line| call.context.bulk(line.to_string().as_bytes()));
        Ok(())
    }
}

/// The line of BF.DEBUG for one layer.
struct DebugLine {
    bytes: u64,
    bits: u64,
    hashes: u32,
    hash_bits: u32,
    capacity: u64,
    len: u64,
    error_rate: f64,
    /// Number and age in milliseconds.
    generation: Option<(u64, u64)>,
}

impl fmt::Display for DebugLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, bits, hashes, hash_bits, capacity, len, error_rate, generation } = self;
        let ratio = format_g(*error_rate);
        write!(
            f,
            "bytes:{bytes} bits:{bits} hashes:{hashes} hashwidth:{hash_bits} \
             capacity:{capacity} size:{len} ratio:{ratio}"
        )?;
        match generation {
            Some((number, age)) => write!(f, " generation:{number} age:{}", age / 1000),
            None => Ok(()),
        }
    }
}

impl DebugLine {
    fn of_layer(layer: LayerRef, len: u64, error_rate: f64) -> Self {
        let bytes = layer.shape().bytes();
        Self {
            bytes,
            bits: bytes * 8,
            hashes: layer.geometry().hashes(),
            hash_bits: 128,
            capacity: layer.capacity(),
            len,
            error_rate,
            generation: None,
        }
    }
}

fn bloomline_lines(filter: &Filter) -> Vec<DebugLine> {
    let layers = filter.layers_with_len().zip(filter.layer_errors());
    layers.map(|((layer, len), error)| DebugLine::of_layer(layer.view(), len, error)).collect()
}

fn windowed_lines(filter: &WindowedFilter) -> Vec<DebugLine> {
    let now = clock::now();
    let mut lines = Vec::new();
    for (number, generation) in filter.generations() {
        let errors = iter::once(filter.spec().regular().error_rate);
        let errors = errors.chain(generation.overflow_errors());
        let age = now.saturating_sub(generation.opened());
        lines.extend(generation.layers_with_len().zip(errors).map(|((layer, len), error)| {
            let generation = Some((number, age));
            DebugLine { generation, ..DebugLine::of_layer(layer, len, error) }
        }));
    }
    lines
}

fn redisbloom_lines(filter: &ClassicFilter) -> Vec<DebugLine> {
    let hash_bits = if filter.common().options.is_64_bit() { 64 } else { 32 };
    let line = |(layer, len): (&ClassicLayer, u64)| {
        let shape = layer.shape();
        DebugLine {
            bytes: shape.bits / 8,
            bits: shape.bits,
            hashes: shape.hashes,
            hash_bits,
            capacity: shape.capacity,
            len,
            error_rate: shape.error,
            generation: None,
        }
    };
    filter.layers_with_len().map(line).collect()
}
