//! CF.INFO and CF.DEBUG.

use crate::command::access;
use crate::command::error::Failure;
use crate::command::float::format_g;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::command::info_fields::{Field, Fields, tokens};
use crate::command::syntax::KEY;
use crate::policy::layout::LayoutRow;
use crate::server::command_docs::{ArgKind, ArgSpec};
use crate::server::context::Context;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.INFO key [field]
pub struct Info;
/// CF.DEBUG key
pub struct Debug;

/// The fields of CF.INFO, in RedisBloom's order. The first eight are returned if none is requested.
static TABLE: [Field<AnyCuckoo>; 12] = [
    Field {
        token: ArgSpec::choice(c"size", c"SIZE"),
        name: c"Size",
        reply: |to, filter| to.count(filter.size()),
    },
    Field {
        token: ArgSpec::choice(c"buckets", c"BUCKETS"),
        name: c"Number of buckets",
        reply: |to, filter| to.count(filter.buckets()),
    },
    Field {
        token: ArgSpec::choice(c"filters", c"FILTERS"),
        name: c"Number of filters",
        reply: |to, filter| to.count(filter.table_count().into()),
    },
    Field {
        token: ArgSpec::choice(c"items", c"ITEMS"),
        name: c"Number of items inserted",
        reply: |to, filter| to.count(filter.len()),
    },
    Field {
        token: ArgSpec::choice(c"deletes", c"DELETES"),
        name: c"Number of items deleted",
        reply: |to, filter| to.count(filter.deletes()),
    },
    Field {
        token: ArgSpec::choice(c"bucketsize", c"BUCKETSIZE"),
        name: c"Bucket size",
        reply: |to, filter| to.count(filter.options().bucket_size.into()),
    },
    Field {
        token: ArgSpec::choice(c"expansion", c"EXPANSION"),
        name: c"Expansion rate",
        reply: |to, filter| to.count(filter.options().expansion.into()),
    },
    Field {
        token: ArgSpec::choice(c"maxiterations", c"MAXITERATIONS"),
        name: c"Max iterations",
        reply: |to, filter| to.count(filter.options().max_iterations.into()),
    },
    Field {
        token: ArgSpec::choice(c"capacity", c"CAPACITY"),
        name: c"Capacity",
        reply: |to, filter| to.count(filter.capacity()),
    },
    Field {
        token: ArgSpec::choice(c"error", c"ERROR"),
        name: c"Error rate",
        reply: |to, filter| match filter.error_rate() {
            Some(rate) => to.bulk(format!("{rate:?}").as_bytes()),
            None => to.null(),
        },
    },
    Field {
        token: ArgSpec::choice(c"fprate", c"FPRATE"),
        name: c"False positive rate",
        reply: |to, filter| match filter.current_rate() {
            Some(rate) => to.bulk(format_g(rate).as_bytes()),
            None => to.null(),
        },
    },
    Field { token: ArgSpec::choice(c"layout", c"LAYOUT"), name: c"Layout", reply: layout },
];

static FIELDS: Fields<AnyCuckoo> =
    Fields { all: &TABLE, has: |_, _| true, default: |_| &[0, 1, 2, 3, 4, 5, 6, 7] };

static TOKENS: [ArgSpec; 12] = tokens(&TABLE);

pub const ARGS: &[ArgSpec] =
    &[KEY, ArgSpec { optional: true, ..ArgSpec::required(c"field", ArgKind::OneOf(&TOKENS)) }];

/// Replies with the name of the layout.
fn layout(to: Context, filter: &AnyCuckoo) {
    to.bulk(LayoutRow::of(filter.layout()).name().as_bytes());
}

impl Handler for Info {
    const ARGS: ArgCount = 2..=3;

    fn run(call: Call) -> Result<(), Failure> {
        // RedisBloom knows no fields, and counts the arguments before it opens the key.
        if call.rest.get(0).is_some_and(|token| FIELDS.named(token).is_none()) {
            return Err(Failure::Arity);
        }
        FIELDS.reply(call, Failure::Arity)
    }
}

impl Handler for Debug {
    const ARGS: ArgCount = 2..=2;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let filter = &*access::existing::<AnyCuckoo>(&key)?;
        let options = filter.options();
        let line = format!(
            "bktsize:{} buckets:{} items:{} deletes:{} filters:{} max_iterations:{} expansion:{}",
            options.bucket_size,
            filter.buckets(),
            filter.len(),
            filter.deletes(),
            filter.table_count(),
            options.max_iterations,
            options.expansion
        );
        call.context.bulk(line.as_bytes());
        Ok(())
    }
}
