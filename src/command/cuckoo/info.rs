//! CF.INFO and CF.DEBUG.

use std::ffi::CStr;

use crate::command::error::{Failure, existing};
use crate::command::handler::{Call, Handler};
use crate::data_type::handle::filter;
use crate::server::key::Key;
use bloomline_core::host::cuckoo::AnyCuckoo;

/// CF.INFO key
pub struct Info;
/// CF.DEBUG key
pub struct Debug;

/// The fields of CF.INFO, in RedisBloom's order.
fn fields(filter: &AnyCuckoo) -> [(&'static CStr, u64); 8] {
    let options = filter.options();
    [
        (c"Size", filter.size()),
        (c"Number of buckets", filter.buckets()),
        (c"Number of filters", filter.table_count().into()),
        (c"Number of items inserted", filter.len()),
        (c"Number of items deleted", filter.deletes()),
        (c"Bucket size", options.bucket_size.into()),
        (c"Expansion rate", options.expansion.into()),
        (c"Max iterations", options.max_iterations.into()),
    ]
}

impl Handler for Info {
    const MIN_ARGS: usize = 2;
    const MAX_ARGS: usize = 2;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        let fields = fields(existing(filter(&key))?);
        call.context.map(fields.len());
        for (name, value) in fields {
            call.context.simple(name);
            call.context.count(value);
        }
        Ok(())
    }
}

impl Handler for Debug {
    const MIN_ARGS: usize = 2;
    const MAX_ARGS: usize = 2;

    fn run(call: Call) -> Result<(), Failure> {
        let key = Key::read(call.context, call.key);
        let filter: &AnyCuckoo = existing(filter(&key))?;
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
