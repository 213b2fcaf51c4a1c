//! The fields of BF.INFO and CF.INFO, and the reply with them.

use std::ffi::CStr;

use super::access;
use super::error::Failure;
use super::handler::Call;
use crate::data_type::handle::DataType;
use crate::server::context::Context;

/// A field of BF.INFO or CF.INFO.
pub struct Field<F: 'static> {
    /// The argument that requests the field.
    pub token: &'static str,
    /// The name in the reply.
    pub name: &'static CStr,
    /// Replies with the value.
    pub reply: fn(Context, &F),
}

/// Replies with all of `fields`, or with the one of `fields` and `more` that the call names.
///
/// # Errors
///
/// There is no such filter, or `unknown` if there is no such field.
pub fn reply<F: DataType>(
    call: Call,
    fields: &[Field<F>],
    more: &[Field<F>],
    unknown: Failure,
) -> Result<(), Failure> {
    let key = access::read(call);
    let filter = access::existing(&key)?;
    let pair = |field: &Field<F>| {
        call.context.simple(field.name);
        (field.reply)(call.context, filter);
    };
    let Some(token) = call.rest.get(0) else {
        call.context.map(fields.len());
        fields.iter().for_each(pair);
        return Ok(());
    };
    let field = fields.iter().chain(more).find(|field| token.is(field.token)).ok_or(unknown)?;
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
