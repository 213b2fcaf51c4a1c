//! The fields of BF.INFO and CF.INFO, and the reply with them.

use std::ffi::CStr;

use super::access;
use super::error::Failure;
use super::handler::Call;
use crate::data_type::handle::DataType;
use crate::server::args::Arg;
use crate::server::command_docs::ArgSpec;
use crate::server::context::Context;

/// A field of BF.INFO or CF.INFO.
pub struct Field<F: 'static> {
    pub token: ArgSpec,
    /// The name in the reply.
    pub name: &'static CStr,
    /// Replies with the value.
    pub reply: fn(Context, &F),
}

/// The fields of a command.
pub struct Fields<F: 'static> {
    /// All of them.
    pub all: &'static [Field<F>],
    /// True if a filter has the field of this index.
    pub has: fn(&F, usize) -> bool,
    /// The indexes of those that are returned of a filter if none is requested.
    pub default: fn(&F) -> &'static [usize],
}

/// The tokens of all fields, for COMMAND DOCS.
#[expect(clippy::indexing_slicing, reason = "computed by the compiler")]
pub const fn tokens<F, const N: usize>(fields: &[Field<F>; N]) -> [ArgSpec; N] {
    let mut tokens = [fields[0].token; N];
    let mut index = 1;
    while index < N {
        tokens[index] = fields[index].token;
        index += 1;
    }
    tokens
}

impl<F: DataType> Fields<F> {
    /// The index of the field that an argument requests.
    pub fn named(&self, arg: Arg) -> Option<usize> {
        self.all.iter().position(|field| field.token.has_token(arg))
    }

    /// Replies with the default fields, or with the one that the call names.
    ///
    /// # Errors
    ///
    /// There is no such filter, or `unknown` if there is no such field.
    pub fn reply(&self, call: Call, unknown: Failure) -> Result<(), Failure> {
        let key = access::read(call);
        let filter = &*access::existing(&key)?;
        let pair = |field: &Field<F>| {
            call.context.simple(field.name);
            (field.reply)(call.context, filter);
        };
        let Some(token) = call.rest.get(0) else {
            let fields = || (self.default)(filter).iter().filter_map(|&index| self.all.get(index));
            call.context.map(fields().count());
            fields().for_each(pair);
            return Ok(());
        };
        let index = self.named(token).filter(|&index| (self.has)(filter, index));
        let field = index.and_then(|index| self.all.get(index)).ok_or(unknown)?;
        if call.context.has_maps() {
            call.context.map(1);
            pair(field);
        } else {
            // The value without its name, as clients of RESP2 expect it.
            call.context.array(1);
            (field.reply)(call.context, filter);
        }
        Ok(())
    }
}
