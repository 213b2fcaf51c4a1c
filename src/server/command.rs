//! Registering commands: with all descriptions that the server's version accepts.

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
use super::command_docs::{ArgDocs, ArgSpec};
use super::loading::Loading;
use super::log;

/// A command handler as the server calls it.
pub type Run =
    unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

pub struct Command {
    pub name: &'static CStr,
    /// The number of arguments with the name; negative: at least that many.
    pub arity: i32,
    /// What the command does, in one line.
    pub summary: &'static CStr,
    /// A further sentence for people, in one line.
    pub hint: &'static CStr,
    pub complexity: &'static CStr,
    /// The first version that has the command.
    pub since: &'static CStr,
    /// Command tips for clients, separated by blanks.
    pub tips: &'static CStr,
    pub access: &'static Access,
    /// The arguments, for COMMAND DOCS.
    pub args: &'static [ArgSpec],
    pub run: Run,
}

pub struct Access {
    /// The command's flags, separated by blanks. They begin with `readonly` or `write` if the
    /// command has a key.
    pub flags: &'static str,
    /// The keys among the arguments.
    pub keys: Keys,
}

impl Access {
    /// True if the first flag is `write`.
    pub const fn is_writing(&self) -> bool {
        matches!(self.flags.as_bytes(), [b'w', b'r', b'i', b't', b'e', ..])
    }

    /// The command's ACL categories, separated by blanks: the `own` one of its family, and the
    /// server's for its flags.
    fn categories(&self, own: Option<&CStr>) -> String {
        let of_flags = self.flags.split(' ').filter_map(|flag| match flag {
            "readonly" => Some("read"),
            "write" => Some("write"),
            "fast" => Some("fast"),
            _ => None,
        });
        let own = own.and_then(|name| name.to_str().ok());
        own.into_iter().chain(of_flags).collect::<Vec<_>>().join(" ")
    }
}

/// Which arguments are keys, with the flags of each.
#[derive(Clone, Copy)]
pub enum Keys {
    None,
    First(u32),
    /// All arguments: the first one is written, the others are read.
    DestinationAndSources {
        /// The flags of the first argument.
        destination: u32,
        /// The flags of the others.
        sources: u32,
    },
}

impl Keys {
    /// First key, last key and step, as RedisModule_CreateCommand takes them. -1 stands for the
    /// last argument.
    fn range(self) -> [c_int; 3] {
        match self {
            Self::None => [0, 0, 0],
            Self::First(_) => [1, 1, 1],
            Self::DestinationAndSources { .. } => [1, -1, 1],
        }
    }

    /// The specifications of the keys. An empty one ends the list.
    fn specs(self) -> [RedisModuleCommandKeySpec; 3] {
        let none = zeroed_key_spec();
        match self {
            Self::None => [none; 3],
            Self::First(flags) => [key_spec(1, 0, flags), none, none],
            Self::DestinationAndSources { destination, sources } => {
                [key_spec(1, 0, destination), key_spec(2, -1, sources), none]
            }
        }
    }
}

/// The commands of a family, and their own ACL category.
pub struct Family {
    pub category: &'static CStr,
    pub commands: &'static [Command],
}

/// Creates an ACL category if the server supports it. True if commands can be put into it.
fn add_category(loading: Loading, name: &CStr) -> bool {
    // SAFETY: the module is being loaded. An error means that the category exists: another module
    // has created it.
    unsafe {
        match raw::RedisModule_AddACLCategory {
            Some(add) => {
                add(loading.as_ptr(), name.as_ptr());
                true
            }
            None => false,
        }
    }
}

/// Registers commands and the ACL categories that are their own. False, with a log line, if the
/// server refuses one.
pub fn register(loading: Loading, families: &[Family]) -> bool {
    // SAFETY: the pointers are written once, while the module is loaded.
    let (describes, categorizes) = unsafe {
        let describes = optional_api!(RedisModule_GetCommand).is_some()
            && optional_api!(RedisModule_SetCommandInfo).is_some();
        (describes, optional_api!(RedisModule_SetCommandACLCategories).is_some())
    };
    // Redis 7.2 and Valkey 7.2 take the server's categories, but none of a module's own.
    let has_own = families.iter().all(|family| add_category(loading, family.category));
    if !describes {
        log::notice(
            "this server takes no descriptions of commands: COMMAND DOCS and key flags are left \
             out",
        );
    }
    if !categorizes || !has_own {
        let names: Vec<_> =
            families.iter().map(|family| family.category.to_string_lossy()).collect();
        log::notice(&format!(
            "this server takes no ACL categories from modules: @{} are left out",
            names.join(" and @")
        ));
    }
    let with_category = |family: &Family| {
        let own = has_own.then_some(family.category);
        family.commands.iter().map(move |command| (command, own))
    };
    families.iter().flat_map(with_category).all(|(command, own)| {
        let done = create(loading, command) && describe(loading, command, own);
        if !done {
            log::warning(&format!(
                "command {} can't be registered: if another module has it (MODULE LIST), load \
                 only one of the two",
                command.name.to_string_lossy()
            ));
        }
        done
    })
}

fn create(loading: Loading, command: &Command) -> bool {
    let flags = CString::new(command.access.flags).unwrap_or_default();
    let run: RedisModuleCmdFunc = Some(command.run);
    let [first, last, step] = command.access.keys.range();
    // SAFETY: the module is being loaded, and the server copies the texts.
    let status = unsafe {
        api!(RedisModule_CreateCommand)(
            loading.as_ptr(),
            command.name.as_ptr(),
            run,
            flags.as_ptr(),
            first,
            last,
            step,
        )
    };
    status == Status::Ok as c_int
}

/// Passes the server the descriptions of a command that its version accepts, and its ACL
/// categories, among them the `own` one of its family.
fn describe(loading: Loading, command: &Command, own: Option<&CStr>) -> bool {
    // SAFETY: the module is being loaded, and the server copies what it is passed.
    unsafe {
        let Some(get) = raw::RedisModule_GetCommand else { return true };
        let handle = get(loading.as_ptr(), command.name.as_ptr());
        if handle.is_null() {
            return false;
        }
        let mut described = true;
        if let Some(set_info) = raw::RedisModule_SetCommandInfo {
            let mut args = ArgDocs::new(command.args);
            let mut keys = command.access.keys.specs();
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
                args: args.as_mut_ptr(),
            };
            described = set_info(handle, &info) == Status::Ok as c_int;
        }
        let categories = command.access.categories(own);
        if let Some(set_categories) = raw::RedisModule_SetCommandACLCategories
            && !categories.is_empty()
        {
            let categories = CString::new(categories).unwrap_or_default();
            described &= set_categories(handle, categories.as_ptr()) == Status::Ok as c_int;
        }
        described
    }
}

/// The specification of the keys from one argument to another. `last` counts from `first`, or, if
/// it is negative, from the end: -1 is the last argument.
fn key_spec(first: c_int, last: c_int, flags: u32) -> RedisModuleCommandKeySpec {
    RedisModuleCommandKeySpec {
        notes: ptr::null(),
        flags: flags.into(),
        begin_search_type: BY_INDEX,
        bs: RedisModuleCommandKeySpec__bindgen_ty_1 {
            index: RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 { pos: first },
        },
        find_keys_type: BY_RANGE,
        fk: RedisModuleCommandKeySpec__bindgen_ty_2 {
            range: RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
                lastkey: last,
                keystep: 1,
                limit: 0,
            },
        },
    }
}

/// The specification that ends a list.
fn zeroed_key_spec() -> RedisModuleCommandKeySpec {
    // SAFETY: null pointers and zeros are valid values of all fields.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::{Access, Keys};

    #[test]
    fn servers_without_own_categories_get_the_others() {
        let categories = |flags, own| Access { flags, keys: Keys::None }.categories(own);
        assert_eq!(categories("readonly fast", None), "read fast");
        assert_eq!(categories("write deny-oom", Some(c"bloom")), "bloom write");
        assert_eq!(categories("allow-loading allow-stale", None), "");
    }
}
