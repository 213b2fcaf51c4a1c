//! The one shim between the server and the commands: casts, calls safe code, replies.

use std::ffi::c_int;

use redis_module::raw::{RedisModuleCtx, RedisModuleString, Status};

use super::text::Failure;
use crate::server::args::{Arg, Args};
use crate::server::reply::Context;

/// What a command does.
pub trait Handler {
    /// Fewest words of a call, the command's name among them: 1 only where there is no key.
    const LEAST: usize;
    /// Most words of a call.
    const MOST: usize = usize::MAX;

    /// Does it, and replies unless it fails.
    fn run(call: Call) -> Result<(), Failure>;
}

/// One call of a client.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Where to reply.
    pub context: Context,
    /// The key's name; the command's own in a command without a key.
    pub key: Arg<'a>,
    /// The words behind it.
    pub rest: Args<'a>,
}

/// What the server calls for the command `H`.
///
/// # Safety
///
/// Only the server may call it, as a command handler.
pub unsafe extern "C" fn shim<H: Handler>(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server passes a valid context and `argc` valid strings, for as long as the
    // handler runs.
    let (context, args) = unsafe { (Context::new(ctx), Args::new(argv, argc)) };
    if let Some(context) = context {
        let in_range = (H::LEAST..=H::MOST).contains(&args.len());
        let result = match args.get(usize::from(H::LEAST > 1)) {
            Some(key) if in_range => H::run(Call { context, key, rest: args.from(2) }),
            _ => Err(Failure::Arity),
        };
        match result {
            Ok(()) => {}
            Err(Failure::Arity) => context.wrong_arity(),
            Err(Failure::Fixed(text)) => context.error(text),
            Err(Failure::Made(text)) => context.error_text(&text),
        }
    }
    Status::Ok as c_int
}
