//! CF.INFO and CF.DEBUG.

use crate::command::access;
use crate::command::error::Failure;
use crate::command::fields::{self, Field};
use crate::command::float::format_g;
use crate::command::handler::{ArgCount, Call, Handler};
use crate::policy::setting::layout_name;
use crate::server::args::Arg;
use crate::server::context::Context;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.INFO key [field]
pub struct Info;
/// CF.DEBUG key
pub struct Debug;

/// The fields of the reply without a field argument, in RedisBloom's order.
static FIELDS: [Field<AnyCuckoo>; 8] = [
    Field { token: "SIZE", name: c"Size", reply: |to, filter| to.count(filter.size()) },
    Field {
        token: "BUCKETS",
        name: c"Number of buckets",
        reply: |to, filter| to.count(filter.buckets()),
    },
    Field {
        token: "FILTERS",
        name: c"Number of filters",
        reply: |to, filter| to.count(filter.table_count().into()),
    },
    Field {
        token: "ITEMS",
        name: c"Number of items inserted",
        reply: |to, filter| to.count(filter.len()),
    },
    Field {
        token: "DELETES",
        name: c"Number of items deleted",
        reply: |to, filter| to.count(filter.deletes()),
    },
    Field {
        token: "BUCKETSIZE",
        name: c"Bucket size",
        reply: |to, filter| to.count(filter.options().bucket_size.into()),
    },
    Field {
        token: "EXPANSION",
        name: c"Expansion rate",
        reply: |to, filter| to.count(filter.options().expansion.into()),
    },
    Field {
        token: "MAXITERATIONS",
        name: c"Max iterations",
        reply: |to, filter| to.count(filter.options().max_iterations.into()),
    },
];

/// Fields that are returned only if they are requested by name.
static MORE_FIELDS: [Field<AnyCuckoo>; 4] = [
    Field { token: "CAPACITY", name: c"Capacity", reply: |to, filter| to.count(filter.capacity()) },
    Field {
        token: "ERROR",
        name: c"Error rate",
        reply: |to, filter| match filter.error_rate() {
            Some(rate) => to.bulk(format!("{rate:?}").as_bytes()),
            None => to.null(),
        },
    },
    Field {
        token: "FPRATE",
        name: c"False positive rate",
        reply: |to, filter| match filter.current_rate() {
            Some(rate) => to.bulk(format_g(rate).as_bytes()),
            None => to.null(),
        },
    },
    Field { token: "LAYOUT", name: c"Layout", reply: layout },
];

/// Replies with the name of the layout.
fn layout(to: Context, filter: &AnyCuckoo) {
    to.bulk(layout_name(filter.layout()).as_bytes());
}

impl Handler for Info {
    const ARGS: ArgCount = 2..=3;

    fn run(call: Call) -> Result<(), Failure> {
        // RedisBloom knows no fields, and counts the arguments before it opens the key.
        let is_known =
            |token: Arg| FIELDS.iter().chain(&MORE_FIELDS).any(|field| token.is(field.token));
        if call.rest.get(0).is_some_and(|token| !is_known(token)) {
            return Err(Failure::Arity);
        }
        fields::reply(call, &FIELDS, &MORE_FIELDS, Failure::Arity)
    }
}

impl Handler for Debug {
    const ARGS: ArgCount = 2..=2;

    fn run(call: Call) -> Result<(), Failure> {
        let key = access::read(call);
        let filter: &AnyCuckoo = access::existing(&key)?;
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
