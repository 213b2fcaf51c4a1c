//! Settings of the module in the server's configuration.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::{
    self, REDISMODULE_CONFIG_DEFAULT, REDISMODULE_CONFIG_UNPREFIXED, RedisModuleCtx,
    RedisModuleString, Status,
};

use super::api::api;
use super::args::Arg;
use super::loading::Loading;
use super::log;
use super::version;

/// A setting as CONFIG GET and CONFIG SET see it: a name and a text.
///
/// One name only: the server sets every registered name that its configuration file does not have
/// to the text it was registered with, so a second name would undo what the file says for the
/// first.
pub trait ConfigParameter: Sync + 'static {
    fn name(&self) -> &'static CStr;

    fn text(&self) -> String;

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// The text of the error reply. The value stays as it was.
    fn set(&self, value: Arg) -> Result<(), String>;

    /// Checks the value after CONFIG SET has set all values of its call. After an error the server
    /// sets all of them back.
    ///
    /// # Errors
    ///
    /// The text of the error reply.
    fn check(&self) -> Result<(), String>;
}

/// Registers settings and applies the server's configuration file to them.
///
/// A setting is unprefixed if the server allows that, else its name is `bf.NAME`. False, with a log
/// line, if the server refuses a setting. Servers before 7.0 have no settings of modules: on those
/// the function only logs that, and returns true.
pub fn register<P: ConfigParameter>(loading: Loading, parameters: &[&'static P]) -> bool {
    // SAFETY: the pointers are written once, while the module is loaded.
    let (Some(register), Some(load)) =
        (unsafe { (raw::RedisModule_RegisterStringConfig, raw::RedisModule_LoadConfigs) })
    else {
        log::notice("this server takes no settings from modules: they are load arguments only");
        return true;
    };
    // Before Redis 8.0 and on Valkey, all settings of modules have a prefix. A server that does not
    // know the flag would log a warning.
    let mut flags = if version::has_settings_without_prefix() {
        REDISMODULE_CONFIG_UNPREFIXED
    } else {
        REDISMODULE_CONFIG_DEFAULT
    };
    for &parameter in parameters {
        let name = parameter.name();
        let text = CString::new(parameter.text()).unwrap_or_default();
        let data: *const P = parameter;
        let register_with = |flags: c_uint| {
            // SAFETY: the server copies name and text, and passes the pointer, which is that of a
            // static, back to the callbacks.
            let status = unsafe {
                register(
                    loading.as_ptr(),
                    name.as_ptr(),
                    text.as_ptr(),
                    flags,
                    Some(get::<P>),
                    Some(set::<P>),
                    Some(check::<P>),
                    data.cast_mut().cast(),
                )
            };
            status == Status::Ok as c_int
        };
        if register_with(flags) {
            continue;
        }
        // Perhaps a server of another kind, which does not know the flag.
        flags = REDISMODULE_CONFIG_DEFAULT;
        if !register_with(flags) {
            let name = name.to_string_lossy();
            log::warning(&format!("the server refuses the setting {name}"));
            return false;
        }
    }
    // SAFETY: all settings are registered, and the module is being loaded.
    unsafe { load(loading.as_ptr()) == Status::Ok as c_int }
}

/// Answers CONFIG GET. The module owns the string and frees it in the next call.
unsafe extern "C" fn get<P: ConfigParameter>(
    _name: *const c_char,
    data: *mut c_void,
) -> *mut RedisModuleString {
    static LAST: AtomicPtr<RedisModuleString> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: `register` passed the server a pointer to a static of this type.
    let parameter = unsafe { &*data.cast::<P>() };
    let string = create(&parameter.text());
    let last = LAST.swap(string, Ordering::Relaxed);
    if !last.is_null() {
        // SAFETY: `create` returned it, and the server has copied it since.
        unsafe { api!(RedisModule_FreeString)(ptr::null_mut(), last) };
    }
    string
}

/// Carries out CONFIG SET.
unsafe extern "C" fn set<P: ConfigParameter>(
    _name: *const c_char,
    value: *mut RedisModuleString,
    data: *mut c_void,
    error: *mut *mut RedisModuleString,
) -> c_int {
    // SAFETY: as in `get`; the server passes a valid string.
    let (parameter, value) = unsafe { (&*data.cast::<P>(), Arg::borrowed(&value)) };
    // SAFETY: the server passed it.
    unsafe { status(parameter.set(value), error) }
}

/// Ends CONFIG SET, once for each setting that the call has set.
unsafe extern "C" fn check<P: ConfigParameter>(
    _ctx: *mut RedisModuleCtx,
    data: *mut c_void,
    error: *mut *mut RedisModuleString,
) -> c_int {
    // SAFETY: as in `get`; the server passed `error`.
    unsafe { status((*data.cast::<P>()).check(), error) }
}

/// # Safety
///
/// `error` must be null, or point to where the server expects the string of an error, which it
/// frees.
unsafe fn status(result: Result<(), String>, error: *mut *mut RedisModuleString) -> c_int {
    let Err(text) = result else { return Status::Ok as c_int };
    if !error.is_null() {
        // SAFETY: promised by the caller.
        unsafe { *error = create(&text) };
    }
    Status::Err as c_int
}

/// A new string of the server; the caller owns it.
fn create(text: &str) -> *mut RedisModuleString {
    // SAFETY: the bytes are copied; a string created with a null context lives until it is freed.
    unsafe { api!(RedisModule_CreateString)(ptr::null_mut(), text.as_ptr().cast(), text.len()) }
}
