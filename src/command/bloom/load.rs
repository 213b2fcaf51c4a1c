//! BF.LOAD: a filter is created from valkey-bloom's payload, which its append-only files contain.

use super::dump::LOADED;
use crate::command::access::{self, Vacant};
use crate::command::creation;
use crate::command::error::{
    BUSY_KEY, DECODING_FAILED, Failure, PAYLOAD_RATE, UNSUPPORTED_PAYLOAD,
};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::policy::limits::Limits;
use crate::server::key::Key;
use bloomline_core::Error;
use bloomline_core::host::AnyFilter;
use bloomline_core::host::valkey::{ValkeyError, ValkeyFilter};

/// BF.LOAD key payload
pub struct Load;

impl Handler for Load {
    const ARGS: ArgCount = 3..=3;

    fn run(call: Call) -> Result<(), Failure> {
        let payload = call.rest.get(0).ok_or(Failure::Arity)?.bytes();
        let mut key = access::write(call);
        let vacant = Vacant::of::<AnyFilter>(call, &mut key)?.ok_or(BUSY_KEY)?;
        let limits = Limits::of(call.source);
        let loaded = ValkeyFilter::decode_payload(payload, &mut limits.permit());
        let loaded = loaded.and_then(AnyFilter::in_box);
        let loaded = loaded.map_err(|error| refused(call, error, &limits))?;
        let (_, changed) = vacant.store(loaded)?;
        let replicate = |_: &Key| call.context.replicate_verbatim();
        call.commit(key, changed, replicate, [(true, LOADED)]);
        call.context.simple(c"OK");
        Ok(())
    }
}

/// The error reply for a payload; the log line has the reason.
fn refused(call: Call, error: Error, limits: &Limits) -> Failure {
    let reply = match error {
        Error::Valkey(ValkeyError::PayloadVersion(_)) => UNSUPPORTED_PAYLOAD,
        Error::Valkey(ValkeyError::ErrorRate(_) | ValkeyError::Tightening(_)) => PAYLOAD_RATE,
        _ => DECODING_FAILED,
    };
    creation::load_refused(call, "BF.LOAD", error, limits, reply)
}
