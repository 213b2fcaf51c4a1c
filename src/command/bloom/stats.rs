//! BF.STATS: everything that is known of a filter.
//!
//! Not in BF.INFO: the parsers of some clients fail at any field but RedisBloom's five.

use std::cell::OnceCell;

use super::info;
use super::read::now_for;
use crate::command::access;
use crate::command::error::{Failure, unknown_argument};
use crate::command::float::format_g;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::policy::layout::LayoutRow;
use crate::server::args::Arg;
use crate::server::context::Context;
use bloomline_core::host::{AnyFilter, Estimate, Window, WindowedFilter};

/// BF.STATS key [field ...]
pub struct Stats;

/// A field of the reply.
struct StatsField {
    /// The name, as argument and in the reply.
    name: &'static str,
    reply: fn(Context, &Subject),
}

/// A filter, and what several fields count in its bits.
struct Subject<'a> {
    filter: &'a AnyFilter,
    /// The time for which it answers, in milliseconds.
    now: u64,
    estimate: OnceCell<Estimate>,
    fp_rates: OnceCell<Vec<f64>>,
}

/// All fields, in the order of the reply.
static FIELDS: [StatsField; 19] = [
    StatsField { name: "layout", reply: |to, of| layout(to, of.filter) },
    StatsField { name: "seed", reply: |to, of| seed(to, of.filter) },
    StatsField { name: "error_rate", reply: |to, of| info::error_rate(to, of.filter) },
    StatsField { name: "capacity", reply: |to, of| info::capacity(to, of.filter) },
    StatsField { name: "expansion", reply: |to, of| info::expansion(to, of.filter) },
    StatsField { name: "items", reply: |to, of| info::items(to, of.filter) },
    StatsField { name: "estimate", reply: |to, of| to.count(of.estimate().items.round() as u64) },
    StatsField {
        name: "estimate_error",
        reply: |to, of| to.count(of.estimate().standard_error().ceil() as u64),
    },
    StatsField { name: "layers", reply: |to, of| info::layers(to, of.filter) },
    StatsField { name: "size", reply: |to, of| info::size(to, of.filter) },
    StatsField { name: "fp_rate", reply: |to, of| to.bulk(format_g(of.fp_rate()).as_bytes()) },
    StatsField { name: "window", reply: |to, of| window(to, of.filter) },
    StatsField { name: "generations", reply: |to, of| generations(to, of.filter) },
    StatsField {
        name: "norefresh",
        reply: |to, of| number(to, of.filter, |windowed| (!windowed.spec().refreshes).into()),
    },
    StatsField { name: "rotations", reply: |to, of| number(to, of.filter, WindowedFilter::number) },
    StatsField { name: "oldest", reply: |to, of| oldest(to, of.filter) },
    StatsField { name: "newest", reply: |to, of| newest(to, of.filter) },
    StatsField { name: "layer_fills", reply: |to, of| layer_numbers(to, &of.filter.fills()) },
    StatsField { name: "layer_fp_rates", reply: |to, of| layer_numbers(to, of.fp_rates()) },
];

impl Subject<'_> {
    fn estimate(&self) -> &Estimate {
        self.estimate.get_or_init(|| self.filter.estimate_at(self.now))
    }

    fn fp_rates(&self) -> &[f64] {
        self.fp_rates.get_or_init(|| self.filter.fp_rates())
    }

    /// The probability that any layer that answers contains an absent item: 1 - (1 - p) (1 - q)
    /// ..., without that difference, which is 0 for rates below 1e-16.
    fn fp_rate(&self) -> f64 {
        let expired = self.filter.expired_layers(self.now) as usize;
        self.fp_rates().iter().skip(expired).fold(0.0, |all, rate| all + rate * (1.0 - all))
    }
}

/// The seed as SEED takes it; it may be above the largest integer of the protocol. Null in
/// RedisBloom's layout, whose seeds are constant.
fn seed(to: Context, filter: &AnyFilter) {
    match filter.seed() {
        Some(seed) => to.bulk(seed.to_string().as_bytes()),
        None => match filter.valkey() {
            Some(filter) => to.bulk(&filter.params().seed),
            None => to.null(),
        },
    }
}

/// Replies with the name of the layout.
fn layout(to: Context, filter: &AnyFilter) {
    to.bulk(LayoutRow::of(filter.layout()).name().as_bytes());
}

/// Replies with the window in seconds, `LAST` or `MANUAL`; null for a filter without a window.
fn window(to: Context, filter: &AnyFilter) {
    match filter.windowed().map(|windowed| windowed.spec().window) {
        Some(Window::Time { millis }) => to.count(millis / 1000),
        Some(Window::Last) => to.bulk(b"LAST"),
        Some(Window::Manual) => to.bulk(b"MANUAL"),
        None => to.null(),
    }
}

/// Replies with the specified number of older generations.
fn generations(to: Context, filter: &AnyFilter) {
    number(to, filter, |windowed| windowed.spec().generations.into());
}

/// Replies with the time at which the oldest generation was opened.
fn oldest(to: Context, filter: &AnyFilter) {
    number(to, filter, |windowed| {
        windowed.generations().next().map_or(0, |(_, oldest)| oldest.opened())
    });
}

/// Replies with the time at which the newest generation was opened.
fn newest(to: Context, filter: &AnyFilter) {
    number(to, filter, |windowed| windowed.opened());
}

/// Replies with a number of a windowed filter; null for other filters.
fn number(to: Context, filter: &AnyFilter, of: impl Fn(&WindowedFilter) -> u64) {
    match filter.windowed() {
        Some(windowed) => to.count(of(windowed)),
        None => to.null(),
    }
}

/// Replies with an array of one number per layer, oldest first.
fn layer_numbers(to: Context, numbers: &[f64]) {
    to.array(numbers.len());
    numbers.iter().for_each(|&number| to.bulk(format_g(number).as_bytes()));
}

impl Handler for Stats {
    const ARGS: ArgCount = 2..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let filter = &*access::existing(&key)?;
        let is_field = |arg: Arg| FIELDS.iter().any(|field| arg.is(field.name));
        if let Some(other) = call.rest.iter().find(|&arg| !is_field(arg)) {
            return Err(unknown_argument(other));
        }
        // Each field once, however often it is named: some count bits.
        let is_requested = |field: &&StatsField| {
            call.rest.is_empty() || call.rest.iter().any(|arg| arg.is(field.name))
        };
        let (estimate, fp_rates) = (OnceCell::new(), OnceCell::new());
        let subject = Subject { filter, now: now_for(filter), estimate, fp_rates };
        call.context.map(FIELDS.iter().filter(is_requested).count());
        for field in FIELDS.iter().filter(is_requested) {
            call.context.bulk(field.name.as_bytes());
            (field.reply)(call.context, &subject);
        }
        Ok(())
    }
}
