//! The entry point of all commands: it checks the number of arguments, runs the command, and
//! replies with its error.

use std::ffi::{CStr, c_int};
use std::ops::RangeInclusive;

use redis_module::raw::{RedisModuleCtx, RedisModuleString, Status};

use super::error::{Failure, SCRIPT_BY_TEXT};
use crate::data_type::handle::Changed;
use crate::policy::source::Source;
use crate::server::args::{Arg, Args};
use crate::server::audit;
use crate::server::context::Context;
use crate::server::key::Key;
use crate::server::log;

/// Numbers of arguments, both ends included.
pub type ArgCount = RangeInclusive<usize>;

pub trait Handler {
    /// How many arguments a call has, with the command's name and the key.
    const ARGS: ArgCount;

    /// Executes a call, and replies to it.
    ///
    /// # Errors
    ///
    /// The error reply. Nothing was replied before.
    fn run(call: Call) -> Result<(), Failure>;
}

/// A command without a key and without arguments.
pub trait Keyless {
    /// Executes a call, and replies to it.
    fn run(context: Context);
}

#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The context, through which the command replies.
    pub context: Context,
    /// Who sends the call.
    pub source: &'a Source,
    pub key: Arg<'a>,
    /// The arguments behind the key.
    pub rest: Args<'a>,
}

impl Call<'_> {
    /// Ends the writing of the call's key. Nothing happens if the key has not changed. Otherwise
    /// the change is replicated by `replicate`, which also writes it to the append-only file, and
    /// reported to watchers and caching clients. Then those of the events that have happened are
    /// sent in their order.
    #[inline(always)]
    pub fn commit<const N: usize>(
        self,
        key: Key,
        changed: Changed,
        replicate: impl FnOnce(&Key),
        events: [(bool, &CStr); N],
    ) {
        if !changed.is_true() {
            return;
        }
        replicate(&key);
        // Closed before the events: a subscriber may delete the key.
        drop(key);
        self.context.signal_change(self.key);
        for (has_happened, event) in events {
            if has_happened {
                self.context.notify(self.key, event);
            }
        }
    }
}

/// The function that the server calls for the command `H`, which may write or only reads.
///
/// # Safety
///
/// Only the server may call it, as a command handler.
pub unsafe extern "C" fn entry<H: Handler, const WRITES: bool>(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server passes a valid context and `argc` valid strings until the handler returns.
    let (context, args) = unsafe { (Context::new(ctx), Args::new(argv, argc)) };
    if let Some(context) = context {
        audit::begin();
        let source = &Source::of_call(context);
        let is_arity_valid = H::ARGS.contains(&args.len());
        let result = match args.get(1) {
            Some(key) if is_arity_valid => {
                run::<H, WRITES>(Call { context, source, key, rest: args.skip(2) })
            }
            _ => Err(Failure::Arity),
        };
        if let (Err(failure), true) = (&result, WRITES) {
            log_refused_origin(&args, source, failure);
        }
        match result {
            Ok(()) => {}
            Err(Failure::Arity) => context.wrong_arity(),
            Err(Failure::Fixed(text)) => context.error(text),
            Err(Failure::Formatted(text)) => context.error_text(&text),
        }
        audit::end(args.get(0).map_or(&[], Arg::bytes));
    }
    Status::Ok as c_int
}

/// The function that the server calls for the command `H`.
///
/// # Safety
///
/// Only the server may call it, as a command handler.
pub unsafe extern "C" fn entry_without_key<H: Keyless>(
    ctx: *mut RedisModuleCtx,
    _argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server passes a valid context until the handler returns.
    match (unsafe { Context::new(ctx) }, argc) {
        (Some(context), 1) => H::run(context),
        (Some(context), _) => context.wrong_arity(),
        (None, _) => {}
    }
    Status::Ok as c_int
}

/// Executes a call unless it writes in a script by text.
fn run<H: Handler, const WRITES: bool>(call: Call) -> Result<(), Failure> {
    if WRITES && call.source.is_script_by_text() {
        return Err(refuse_script(call));
    }
    H::run(call)
}

/// Logs a call of a primary or a file that is refused: a client gets the error, these do not.
#[cold]
fn log_refused_origin(args: &Args, source: &Source, failure: &Failure) {
    if !source.is_replicated_or_loaded() {
        return;
    }
    let shown = |index| args.get(index).map(|arg: Arg| arg.shown().to_string()).unwrap_or_default();
    let (name, key) = (shown(0), shown(1));
    log::REFUSALS.write(format_args!(
        "filter '{key}': a call of {name} that a primary or a file made is refused here, {failure}: \
         compare DEBUG DIGEST-VALUE"
    ));
}

/// Refuses a call that writes in a script by text. Logs it where no client gets the error.
#[cold]
fn refuse_script(call: Call) -> Failure {
    if call.source.may_be_repeated() {
        log::REFUSALS.write(format_args!(
            "filter '{}': a script that a primary or a file repeats was refused to write it. It \
             was refused there too, unless RedisBloom executed it: then set \
             lua-replicate-commands yes there, and synchronise fully; for a file, BGREWRITEAOF \
             there first",
            call.key.shown()
        ));
    }
    SCRIPT_BY_TEXT.into()
}
