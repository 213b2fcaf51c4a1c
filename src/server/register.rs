//! Commands, made known to the server as far as it wants to know them.

use std::ffi::{CStr, CString, c_int};
use std::ptr;

use redis_module::raw::{
    self, RedisModuleCmdFunc, RedisModuleCommandArg, RedisModuleCommandHistoryEntry,
    RedisModuleCommandInfo, RedisModuleCommandInfoVersion, RedisModuleCommandKeySpec,
    RedisModuleCommandKeySpec__bindgen_ty_1, RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1,
    RedisModuleCommandKeySpec__bindgen_ty_2, RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1,
    RedisModuleCtx, RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX as BY_INDEX,
    RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE as BY_RANGE, RedisModuleString,
    Status,
};

use super::api::{api, optional_api};
use super::docs::{Described, Takes};
use super::loading::Loading;
use super::log;

/// The category of all commands; made by this module where the server allows it.
const CATEGORY: &CStr = c"bloom";

/// A command handler as the server calls it.
pub type Run =
    unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

/// A command with one key, its first argument, or with none.
pub struct Command {
    /// The name.
    pub name: &'static CStr,
    /// Number of words with the name; negative: at least so many.
    pub arity: i32,
    /// What it does, in one line.
    pub summary: &'static CStr,
    /// What a person should know besides, in one line.
    pub hint: &'static CStr,
    /// What it costs.
    pub complexity: &'static CStr,
    /// Version that brought it.
    pub since: &'static CStr,
    /// Hints for clients, separated by blanks.
    pub tips: &'static CStr,
    /// What it may do to its key.
    pub access: &'static Access,
    /// What it takes, for COMMAND DOCS.
    pub takes: &'static [Takes],
    /// The handler.
    pub run: Run,
}

/// What commands may do.
pub struct Access {
    /// Flags as the server's function takes them.
    pub flags: &'static str,
    /// Categories of access control lists, the module's first.
    pub categories: &'static str,
    /// Flags of the key; none where there is no key.
    pub key: Option<u32>,
}

/// Makes the category that the commands share, where the server has such a thing. True if it exists
/// now.
fn add_category(loading: Loading) -> bool {
    // SAFETY: the module is being loaded. An error says that the category exists: another module
    // has brought it.
    unsafe {
        match raw::RedisModule_AddACLCategory {
            Some(add) => {
                add(loading.as_ptr(), CATEGORY.as_ptr());
                true
            }
            None => false,
        }
    }
}

/// Registers commands. False, with a log line, if one can't be.
pub fn register(loading: Loading, commands: &'static [Command]) -> bool {
    let has_category = add_category(loading);
    // SAFETY: the pointers are written once, while the module is loaded.
    let (describes, categorises) = unsafe {
        let describes = optional_api!(RedisModule_GetCommand).is_some()
            && optional_api!(RedisModule_SetCommandInfo).is_some();
        (describes, optional_api!(RedisModule_SetCommandACLCategories).is_some())
    };
    if !describes {
        log::notice(
            "this server takes no descriptions of commands: COMMAND DOCS and key flags are left out",
        );
    }
    if !categorises || !has_category {
        log::notice("this server takes no ACL categories from modules: @bloom is left out");
    }
    commands.iter().all(|command| {
        let done = create(loading, command) && describe(loading, command, has_category);
        if !done {
            log::warning(&format!(
                "command {} can't be registered: if another module has it (MODULE LIST), load only one of the two",
                command.name.to_string_lossy()
            ));
        }
        done
    })
}

fn create(loading: Loading, command: &Command) -> bool {
    let flags = CString::new(command.access.flags).unwrap_or_default();
    let run: RedisModuleCmdFunc = Some(command.run);
    let at = c_int::from(command.access.key.is_some());
    // SAFETY: the server copies the texts; a key is the first argument.
    let status = unsafe {
        api!(RedisModule_CreateCommand)(
            loading.as_ptr(),
            command.name.as_ptr(),
            run,
            flags.as_ptr(),
            at,
            at,
            at,
        )
    };
    status == Status::Ok as c_int
}

/// Tells the server what it can know of a command; what it can't is left out.
fn describe(loading: Loading, command: &Command, has_category: bool) -> bool {
    // SAFETY: the context is that of the loading, and the server copies all it is given.
    unsafe {
        let Some(get) = raw::RedisModule_GetCommand else { return true };
        let handle = get(loading.as_ptr(), command.name.as_ptr());
        if handle.is_null() {
            return false;
        }
        let mut described = true;
        if let Some(set_info) = raw::RedisModule_SetCommandInfo {
            let mut described_args = Described::new(command.takes);
            // The list ends with an empty one.
            let mut keys =
                [command.access.key.map_or_else(zeroed_key_spec, key_spec), zeroed_key_spec()];
            let version = RedisModuleCommandInfoVersion {
                version: 1,
                sizeof_historyentry: size_of::<RedisModuleCommandHistoryEntry>(),
                sizeof_keyspec: size_of::<RedisModuleCommandKeySpec>(),
                sizeof_arg: size_of::<RedisModuleCommandArg>(),
            };
            let info = RedisModuleCommandInfo {
                version: &version,
                summary: command.summary.as_ptr(),
                complexity: command.complexity.as_ptr(),
                since: command.since.as_ptr(),
                history: ptr::null_mut(),
                tips: if command.tips.is_empty() { ptr::null() } else { command.tips.as_ptr() },
                arity: command.arity,
                key_specs: keys.as_mut_ptr(),
                args: described_args.as_mut_ptr(),
            };
            described = set_info(handle, &info) == Status::Ok as c_int;
        }
        if let (Some(set_categories), true) =
            (raw::RedisModule_SetCommandACLCategories, has_category)
        {
            let categories = CString::new(command.access.categories).unwrap_or_default();
            described &= set_categories(handle, categories.as_ptr()) == Status::Ok as c_int;
        }
        described
    }
}

/// One key: the first argument.
fn key_spec(flags: u32) -> RedisModuleCommandKeySpec {
    RedisModuleCommandKeySpec {
        notes: ptr::null(),
        flags: flags.into(),
        begin_search_type: BY_INDEX,
        bs: RedisModuleCommandKeySpec__bindgen_ty_1 {
            index: RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 { pos: 1 },
        },
        find_keys_type: BY_RANGE,
        fk: RedisModuleCommandKeySpec__bindgen_ty_2 {
            range: RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
                lastkey: 0,
                keystep: 1,
                limit: 0,
            },
        },
    }
}

/// The end of a list of key specifications.
fn zeroed_key_spec() -> RedisModuleCommandKeySpec {
    // SAFETY: null pointers and zeros are valid values of all fields.
    unsafe { std::mem::zeroed() }
}
