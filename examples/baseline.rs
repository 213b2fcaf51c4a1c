//! The baselines of the server bench: commands that do what any `BF.*` command must, and nothing of
//! a Bloom filter.
//!
//! A module can't answer N items faster than it can read N arguments and send N replies, nor touch
//! a key without opening it. What such a handler costs on a server is the baseline, and every time
//! the bench reports is given as a multiple of it, so that machines and server versions cancel out.
//!
//! | command | does | is the baseline of |
//! |---|---|---|
//! | `BASELINE.ARR key item…` | reads each item's pointer and length, answers an array | `BF.MEXISTS`, `BF.MADD`, `BF.INSERT` |
//! | `BASELINE.HASH key item…` | the same, and the XXH3 of each item | the same with a hash, which every filter needs |
//! | `BASELINE.KEY key item` | opens for read, takes the value's pointer | `BF.EXISTS` |
//! | `BASELINE.KEYSEEN key item` | opens for write, takes the value's pointer | `BF.ADD` of an item seen before |
//! | `BASELINE.KEYADD key item` | the same, then replicates the call verbatim | `BF.ADD` of a new item |
//! | `BASELINE.NEW key [item]` | opens for write, stores a small value, replicates | `BF.ADD` that creates the filter |
//!
//! Every answer is "true" in the form our commands use: `ReplyWithBool` where the server has it
//! (`:1` for RESP2 clients, `#t` for RESP3 ones), an integer elsewhere.
//!
//! It is a separate module, `baseline`, which links nothing of ours. It is for benches only:
//! its values are never saved to RDB or AOF. Build it with `cargo build --release --example
//! baseline`.

// `redis_module!` writes `RedisModule_OnLoad` without a doc comment.

use std::alloc::System;
use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;

use redis_module::native_types::RedisType;
use redis_module::{Context, RedisString, Status, raw, redis_module};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The server's way to say that a handler did its work.
const OK: c_int = raw::REDISMODULE_OK as c_int;
/// The server's way to say that it did not; also our answer where an API is missing.
const ERR: c_int = raw::REDISMODULE_ERR as c_int;

/// The handlers' signature, fixed by the module API.
type Handler = unsafe extern "C" fn(
    *mut raw::RedisModuleCtx,
    *mut *mut raw::RedisModuleString,
    c_int,
) -> c_int;

/// A type of its own, so that the baselines look up a module value as our commands do.
static BASELINE_TYPE: RedisType = RedisType::new(
    "baselineV",
    0,
    raw::RedisModuleTypeMethods {
        version: raw::REDISMODULE_TYPE_METHOD_VERSION as u64,
        free: Some(free_value),
        // The bench never saves, copies, digests or defragments.
        rdb_load: None,
        rdb_save: None,
        aof_rewrite: None,
        mem_usage: None,
        digest: None,
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: None,
        unlink: None,
        copy: None,
        defrag: None,
        mem_usage2: None,
        free_effort2: None,
        unlink2: None,
        copy2: None,
        aux_save2: None,
    },
);

/// The value: one small allocation, about the least a module value can be.
struct Value {
    _words: [u64; 2],
}

/// Takes an API's function, or ends the handler where the server lacks it.
///
/// Its uses stand in `unsafe` blocks: the server sets these pointers once, before it calls `init`,
/// and on the thread that runs the handlers.
macro_rules! api {
    ($name:ident) => {
        match raw::$name {
            Some(function) => function,
            None => return ERR,
        }
    };
}

/// Frees what `BASELINE.NEW` stored.
unsafe extern "C" fn free_value(value: *mut c_void) {
    // SAFETY: the server hands back the pointer that `new_value` gave it, exactly once.
    drop(unsafe { Box::from_raw(value.cast::<Value>()) });
}

/// Answers "true" as our commands do.
fn reply_true(ctx: *mut raw::RedisModuleCtx) -> c_int {
    // SAFETY: as in `api!`; `ctx` is the one the handler was called with.
    unsafe {
        match raw::RedisModule_ReplyWithBool {
            Some(reply) => reply(ctx, 1),
            None => api!(RedisModule_ReplyWithLongLong)(ctx, 1),
        }
    }
}

/// Answers an error text, which must start with its code.
fn reply_error(ctx: *mut raw::RedisModuleCtx, text: &CStr) -> c_int {
    // SAFETY: `ctx` is the handler's, `text` ends with a zero byte.
    unsafe { api!(RedisModule_ReplyWithError)(ctx, text.as_ptr()) }
}

/// `BASELINE.ARR key item…` and `BASELINE.HASH key item…`: reads each item's pointer and length, or
/// hashes it; answers an array of as many "true".
unsafe extern "C" fn arr<const HASHED: bool>(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server gives `argc` valid arguments at `argv` and a `ctx` for the length of the
    // call.
    unsafe {
        let argv = std::slice::from_raw_parts(argv, argc as usize);
        let Some(items @ [_, ..]) = argv.get(2..) else {
            return api!(RedisModule_WrongArity)(ctx);
        };
        let string_ptr_len = api!(RedisModule_StringPtrLen);
        api!(RedisModule_ReplyWithArray)(ctx, items.len() as _);
        for &item in items {
            let mut len = 0;
            let start = string_ptr_len(item, &mut len);
            // `black_box`: the results must be in registers, as if they were used next.
            if HASHED {
                black_box(xxh3_64_with_seed(
                    std::slice::from_raw_parts(start.cast(), len),
                    black_box(SEED),
                ));
            } else {
                black_box((start, len));
            }
            reply_true(ctx);
        }
    }
    OK
}

/// Any number: with one the hash is a little dearer than without.
const SEED: u64 = 1;
/// The items themselves are read, and hashed.
const HASHED: bool = true;

/// Opens for read, as `BF.EXISTS` does.
const READS: u32 = raw::REDISMODULE_READ;
/// Opens for write, as `BF.ADD` must before it knows whether the item is new.
const WRITES: u32 = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;
/// Replicates the call as it came; an item seen before changes nothing, so its call is not
/// replicated.
const REPLICATES: bool = true;

/// `BASELINE.KEY`, `BASELINE.KEYSEEN` and `BASELINE.KEYADD`: opens the key, takes the value's
/// pointer and the item's, closes the key, answers "true"; or the error a missing or foreign key
/// gets.
unsafe extern "C" fn look<const MODE: u32, const REPLICATED: bool>(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server's arguments and context are valid for the call; the key is closed on every
    // path.
    unsafe {
        let argv = std::slice::from_raw_parts(argv, argc as usize);
        let &[_, name, item] = argv else {
            return api!(RedisModule_WrongArity)(ctx);
        };
        let key = api!(RedisModule_OpenKey)(ctx, name, MODE as c_int);
        let is_module_value =
            api!(RedisModule_KeyType)(key) as isize == raw::REDISMODULE_KEYTYPE_MODULE;
        let is_ours = is_module_value
            && api!(RedisModule_ModuleTypeGetType)(key) == *BASELINE_TYPE.raw_type.as_ptr();
        if is_ours {
            black_box(api!(RedisModule_ModuleTypeGetValue)(key));
            let mut len = 0;
            black_box((api!(RedisModule_StringPtrLen)(item, &mut len), len));
        }
        api!(RedisModule_CloseKey)(key);
        if !is_ours {
            return reply_error(ctx, c"ERR make the key with BASELINE.NEW first");
        }
        if REPLICATED {
            api!(RedisModule_ReplicateVerbatim)(ctx);
        }
        reply_true(ctx)
    }
}

/// `BASELINE.NEW key [item]`: stores a value of our type, replacing what was there; the baseline of
/// creating a filter.
unsafe extern "C" fn new_value(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server's arguments and context are valid for the call; the key owns the value
    // from SetValue on.
    unsafe {
        let argv = std::slice::from_raw_parts(argv, argc as usize);
        let Some(&name) = argv.get(1) else {
            return api!(RedisModule_WrongArity)(ctx);
        };
        let mode = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;
        let key = api!(RedisModule_OpenKey)(ctx, name, mode as c_int);
        let value = Box::into_raw(Box::new(Value { _words: [0; 2] }));
        let set = api!(RedisModule_ModuleTypeSetValue);
        let is_stored = set(key, *BASELINE_TYPE.raw_type.as_ptr(), value.cast()) == OK;
        api!(RedisModule_CloseKey)(key);
        if !is_stored {
            free_value(value.cast());
            return reply_error(ctx, c"ERR could not store the value");
        }
        api!(RedisModule_ReplicateVerbatim)(ctx);
        reply_true(ctx)
    }
}

/// Registers the commands with raw handlers: the crate's own wrappers cost 6 ns an argument.
fn init(ctx: &Context, _args: &[RedisString]) -> Status {
    let commands: [(&CStr, Handler, &CStr); 6] = [
        (c"BASELINE.ARR", arr::<{ !HASHED }>, c"readonly fast"),
        (c"BASELINE.HASH", arr::<HASHED>, c"readonly fast"),
        (c"BASELINE.KEY", look::<READS, { !REPLICATES }>, c"readonly fast"),
        (c"BASELINE.KEYSEEN", look::<WRITES, { !REPLICATES }>, c"write fast deny-oom"),
        (c"BASELINE.KEYADD", look::<WRITES, REPLICATES>, c"write fast deny-oom"),
        (c"BASELINE.NEW", new_value, c"write fast deny-oom"),
    ];
    // SAFETY: as in `api!`.
    let Some(create) = (unsafe { raw::RedisModule_CreateCommand }) else {
        return Status::Err;
    };
    for (name, handler, flags) in commands {
        // SAFETY: names and flags end with a zero byte and are copied by the server; we are inside
        // its load call.
        let created =
            unsafe { create(ctx.ctx, name.as_ptr(), Some(handler), flags.as_ptr(), 1, 1, 1) };
        if created != OK {
            return Status::Err;
        }
    }
    Status::Ok
}

redis_module! {
    name: "baseline",
    version: 1,
    allocator: (System, System),
    data_types: [BASELINE_TYPE],
    init: init,
    commands: [],
}
