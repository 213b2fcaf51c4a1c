//! Setting the settings: by load arguments, and by the server's configuration.

use std::ffi::CStr;

use super::setting::{ALL, LEGACY, Problem, Setting};
use crate::server::args::{Arg, Args};
use crate::server::config::{self, ConfigParameter};
use crate::server::loading::Loading;
use crate::server::log;

/// Applies the load arguments: pairs of a setting's name and its value. False, with a log line, if
/// one is wrong.
pub fn apply_arguments(args: Args) -> bool {
    let args: Vec<Arg> = args.iter().collect();
    // The server passes one empty argument if its configuration line ends with a blank.
    if let [only] = args.as_slice()
        && only.bytes().is_empty()
    {
        return true;
    }
    let (pairs, rest) = args.as_chunks::<2>();
    if !rest.is_empty() {
        log::warning(
            "Invalid number of arguments passed: they are pairs of a setting and its value",
        );
        return false;
    }
    pairs.iter().all(|[name, value]| apply_argument(*name, *value))
}

fn apply_argument(name: Arg, value: Arg) -> bool {
    let shown = String::from_utf8_lossy(name.bytes());
    let by_name = |setting: &&&Setting| setting.name.to_str().is_ok_and(|own| name.is(own));
    let by_legacy = |(legacy, _): &&(&str, &Setting)| name.is(legacy);
    let setting = match (ALL.iter().find(by_name), LEGACY.iter().find(by_legacy)) {
        (Some(setting), _) => setting,
        (None, Some((_, setting))) => {
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
    is_valid(&shown, setting.set(value))
}

/// False, with a log line, if a setting has a problem.
fn is_valid(name: &str, result: Result<(), Problem>) -> bool {
    match result {
        Ok(()) => return true,
        Err(Problem::Unreadable) => log::warning(&format!("Invalid argument for '{name}'")),
        Err(Problem::OutOfRange(range)) => {
            log::warning(&format!("'{name}' must be in the range {range}"))
        }
    }
    false
}

/// Registers the settings with the server, applies its configuration file to them, and checks what
/// they are then. False, with a log line, if the server refuses one or a value is invalid.
pub fn register(loading: Loading) -> bool {
    config::register(loading, &ALL)
        && ALL.iter().all(|setting| is_valid(&setting.name.to_string_lossy(), setting.check()))
}

impl ConfigParameter for Setting {
    fn name(&self) -> &'static CStr {
        self.name
    }

    fn text(&self) -> String {
        Setting::text(self)
    }

    fn set(&self, value: Arg) -> Result<(), String> {
        Setting::set(self, value).map_err(|problem| reply(self, problem))
    }

    fn check(&self) -> Result<(), String> {
        Setting::check(self).map_err(|problem| reply(self, problem))
    }
}

/// The text of the error reply for a problem of a setting.
fn reply(setting: &Setting, problem: Problem) -> String {
    let name = setting.name.to_string_lossy();
    match problem {
        Problem::Unreadable => format!("Invalid value for `{name}`"),
        Problem::OutOfRange(range) => format!("Value for `{name}` must be in the range {range}"),
    }
}
