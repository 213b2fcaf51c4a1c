//! Settings as load arguments, and in the server's configuration where it takes any from modules.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::{
    self, REDISMODULE_CONFIG_DEFAULT, REDISMODULE_CONFIG_UNPREFIXED, RedisModuleString, Status,
};

use super::api::api;
use super::args::{Arg, Args};
use super::loading::Loading;
use super::log;
use super::setting::{ALL, Problem, Setting};

/// What is called after a change of a setting.
static CHANGED: OnceLock<fn()> = OnceLock::new();

/// Takes the load arguments, pairs of a setting's name and its value. False, with a log line, if
/// one is wrong.
pub fn take_arguments(args: Args) -> bool {
    let words: Vec<Arg> = args.iter().collect();
    // The server passes one empty word where its configuration line ends in a blank.
    if let [only] = words.as_slice()
        && only.bytes().is_empty()
    {
        return true;
    }
    let (pairs, rest) = words.as_chunks::<2>();
    if !rest.is_empty() {
        log::warning(
            "Invalid number of arguments passed: they are pairs of a setting and its value",
        );
        return false;
    }
    pairs.iter().all(|[name, value]| take_argument(*name, *value))
}

fn take_argument(name: Arg, value: Arg) -> bool {
    let shown = String::from_utf8_lossy(name.bytes());
    let by_name = |setting: &&&Setting| setting.name.to_str().is_ok_and(|own| name.is(own));
    let by_legacy = |setting: &&&Setting| setting.legacy.is_some_and(|legacy| name.is(legacy));
    let setting = match (ALL.iter().find(by_name), ALL.iter().find(by_legacy)) {
        (Some(setting), _) => setting,
        (None, Some(setting)) => {
            let own = setting.name.to_string_lossy();
            log::warning(&format!(
                "The '{shown}' configuration is deprecated. Please use '{own}' instead"
            ));
            setting
        }
        (None, None) => {
            log::warning(&format!("Unrecognized option '{shown}'"));
            return false;
        }
    };
    match setting.set(value) {
        Ok(()) => return true,
        Err(Problem::Unreadable) => log::warning(&format!("Invalid argument for '{shown}'")),
        Err(Problem::OutOfRange(range)) => {
            log::warning(&format!("'{shown}' must be in the range {range}"))
        }
        // At load there is no filter yet.
        Err(Problem::Held(_)) => {}
    }
    false
}

/// Registers the settings with the server, unprefixed where it allows that, else as `bf.NAME`, and
/// takes what its configuration file says of them. False if the server refuses one.
/// `changed` is called now and after each change.
pub fn register(loading: Loading, changed: fn()) -> bool {
    // Nobody else sets it.
    let _ = CHANGED.set(changed);
    let is_registered = register_all(loading);
    changed();
    is_registered
}

fn register_all(loading: Loading) -> bool {
    // SAFETY: the pointers are written once, while the module is loaded.
    let (Some(register), Some(load)) =
        (unsafe { (raw::RedisModule_RegisterStringConfig, raw::RedisModule_LoadConfigs) })
    else {
        log::notice("this server takes no settings from modules: they are load arguments only");
        return true;
    };
    let mut flags = REDISMODULE_CONFIG_UNPREFIXED;
    for setting in ALL {
        let text = CString::new(setting.text()).unwrap_or_default();
        let data: *const Setting = setting;
        let with = |flags: c_uint| {
            // SAFETY: the server copies name and text; the callbacks get back a pointer to a
            // static.
            let status = unsafe {
                register(
                    loading.as_ptr(),
                    setting.name.as_ptr(),
                    text.as_ptr(),
                    flags,
                    Some(get),
                    Some(set),
                    None,
                    data.cast_mut().cast(),
                )
            };
            status == Status::Ok as c_int
        };
        if with(flags) {
            continue;
        }
        // The server has logged that it does not know the flag: once is enough.
        flags = REDISMODULE_CONFIG_DEFAULT;
        if !with(flags) {
            log::warning(&format!(
                "the server refuses the setting {}",
                setting.name.to_string_lossy()
            ));
            return false;
        }
    }
    // SAFETY: all settings are registered, and the context is that of the loading.
    unsafe { load(loading.as_ptr()) == Status::Ok as c_int }
}

/// Answers CONFIG GET. The string stays ours until the next call.
unsafe extern "C" fn get(_name: *const c_char, data: *mut c_void) -> *mut RedisModuleString {
    static LAST: AtomicPtr<RedisModuleString> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: `register` gave the server a pointer to a static setting.
    let setting = unsafe { &*data.cast::<Setting>() };
    let string = create(&setting.text());
    let last = LAST.swap(string, Ordering::Relaxed);
    if !last.is_null() {
        // SAFETY: `create` made it, and the server has copied it since.
        unsafe { api!(RedisModule_FreeString)(ptr::null_mut(), last) };
    }
    string
}

/// Carries out CONFIG SET.
unsafe extern "C" fn set(
    _name: *const c_char,
    value: *mut RedisModuleString,
    data: *mut c_void,
    error: *mut *mut RedisModuleString,
) -> c_int {
    // SAFETY: as in `get`; the server passes a valid string, and frees the error it gets.
    let (setting, value) = unsafe { (&*data.cast::<Setting>(), Arg::borrowed(&value)) };
    let name = setting.name.to_string_lossy();
    let text = match setting.set(value) {
        Ok(()) => {
            if let Some(changed) = CHANGED.get() {
                changed();
            }
            return Status::Ok as c_int;
        }
        Err(Problem::Unreadable) => format!("Invalid value for `{name}`"),
        Err(Problem::OutOfRange(range)) => {
            format!("Value for `{name}` must be in the range {range}")
        }
        Err(Problem::Held(filters)) => {
            format!(
                "`{name}` forbids layout bloomline, and this server holds {filters} such filters"
            )
        }
    };
    if !error.is_null() {
        // SAFETY: the server passes a place for one string.
        unsafe { *error = create(&text) };
    }
    Status::Err as c_int
}

/// A string of the server that belongs to nobody yet.
fn create(text: &str) -> *mut RedisModuleString {
    // SAFETY: the bytes are copied; a null context makes a string that lives until it is freed.
    unsafe { api!(RedisModule_CreateString)(ptr::null_mut(), text.as_ptr().cast(), text.len()) }
}
