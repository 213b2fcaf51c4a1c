//! The server's functions: which are required, and how one is called.

use super::log;

/// A function of the server that [`missing`] found when the module was loaded.
///
/// Evaluates to the function pointer. Used inside an `unsafe` block; the block's SAFETY comment
/// covers the call.
macro_rules! api {
    ($name:ident) => {
        match redis_module::raw::$name {
            Some(function) => function,
            None => $crate::server::api::absent(stringify!($name)),
        }
    };
}
pub(crate) use api;

/// A function that the server may lack. Used like [`api!`]; evaluates to an option.
macro_rules! optional_api {
    ($name:ident) => {{
        let function = redis_module::raw::$name;
        function
    }};
}
pub(crate) use optional_api;

/// The name of the first required function that the server lacks; none if all are present.
pub fn missing() -> Option<&'static str> {
    macro_rules! first_absent {
        ($($name:ident)*) => {
            // SAFETY: the pointers are written once, before this function is called.
            unsafe { None$(.or(optional_api!($name).is_none().then_some(stringify!($name))))* }
        };
    }
    first_absent!(
        RedisModule_Alloc RedisModule_Realloc RedisModule_Free
        RedisModule_CreateCommand RedisModule_CreateDataType RedisModule_SetModuleOptions
        RedisModule_OpenKey RedisModule_CloseKey RedisModule_KeyType RedisModule_ModuleTypeGetType
        RedisModule_ModuleTypeGetValue RedisModule_ModuleTypeSetValue
        RedisModule_ModuleTypeReplaceValue
        RedisModule_StringPtrLen RedisModule_CreateString RedisModule_FreeString
        RedisModule_ReplyWithArray RedisModule_ReplySetArrayLength RedisModule_ReplyWithLongLong
        RedisModule_ReplyWithError RedisModule_ReplyWithSimpleString
        RedisModule_ReplyWithStringBuffer RedisModule_ReplyWithNull RedisModule_WrongArity
        RedisModule_Replicate RedisModule_ReplicateVerbatim RedisModule_SignalModifiedKey
        RedisModule_GetContextFlags RedisModule_Log RedisModule_Milliseconds RedisModule_SetExpire
        RedisModule_SaveUnsigned RedisModule_SaveDouble RedisModule_SaveStringBuffer
        RedisModule_LoadUnsigned RedisModule_LoadDouble
        RedisModule_LoadStringBuffer RedisModule_IsIOError RedisModule_LogIOError
        RedisModule_EmitAOF RedisModule_GetServerInfo RedisModule_ServerInfoGetFieldUnsigned
        RedisModule_ServerInfoGetFieldC RedisModule_FreeServerInfo
        RedisModule_NotifyKeyspaceEvent RedisModule_MallocSize
        RedisModule_DigestAddStringBuffer RedisModule_DigestEndSequence
        RedisModule_DefragAlloc RedisModule_DefragShouldStop RedisModule_DefragCursorGet
        RedisModule_DefragCursorSet
        RedisModule_InfoAddSection RedisModule_InfoAddFieldULongLong RedisModule_InfoAddFieldCString
    )
}

/// Logs that a function is missing and aborts. Unreachable, because [`missing`] refuses such a
/// server when the module is loaded.
#[cold]
pub fn absent(name: &str) -> ! {
    log::warning(&format!("{name} is missing on this server"));
    std::process::abort()
}
