//! The options of BF.RESERVE and BF.INSERT that say when items are forgotten and when the key
//! expires: WINDOW, LAST, GENERATIONS, NOREFRESH and TTL.

use super::error::Failure;
use crate::server::args::{Arg, Args};
use bloomline_core::window::{
    DEFAULT_GENERATIONS, MAX_GENERATIONS, MAX_WINDOW_MILLIS, MIN_GENERATIONS, Window, WindowSpec,
};
use bloomline_core::{Growth, Layout, Spec};

/// The largest number of seconds for WINDOW and TTL.
const MAX_SECONDS: u64 = MAX_WINDOW_MILLIS / 1000;

/// The growth of a LAST filter, whatever the settings: a generation gets overflow layers only while
/// refreshed items keep the oldest generation from being dropped, and must not refuse items then.
const LAST_GROWTH: Growth = Growth::Scaling { expansion: 2 };

/// When a filter forgets, and when its key expires.
#[derive(Clone, Copy, Default)]
pub struct Lifetime {
    /// Milliseconds of WINDOW.
    millis: Option<u64>,
    is_last: bool,
    generations: Option<u32>,
    no_refresh: bool,
    /// Milliseconds after which the key expires.
    pub ttl: Option<u64>,
}

/// An option name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// WINDOW seconds
    Window,
    /// LAST
    Last,
    /// GENERATIONS g
    Generations,
    /// NOREFRESH
    NoRefresh,
    /// TTL seconds
    Ttl,
}

impl Token {
    /// The option name that an argument is.
    pub fn of(arg: Arg) -> Option<Self> {
        const TOKENS: [(&str, Token); 5] = [
            ("WINDOW", Token::Window),
            ("LAST", Token::Last),
            ("GENERATIONS", Token::Generations),
            ("NOREFRESH", Token::NoRefresh),
            ("TTL", Token::Ttl),
        ];
        TOKENS.iter().find(|(name, _)| arg.is(name)).map(|&(_, token)| token)
    }

    /// True if a value follows the name.
    pub fn has_value(self) -> bool {
        !matches!(self, Self::Last | Self::NoRefresh)
    }
}

/// The number of arguments that are such options or their values.
pub fn count(args: Args) -> usize {
    args.iter().filter_map(Token::of).map(|token| 1 + usize::from(token.has_value())).sum()
}

impl Lifetime {
    /// Sets an option. `value` returns its value.
    ///
    /// # Errors
    ///
    /// The error reply: the value is missing or out of range.
    pub fn set<'a>(
        &mut self,
        option: Token,
        value: impl FnOnce() -> Result<Arg<'a>, Failure>,
    ) -> Result<(), Failure> {
        match option {
            Token::Window => self.millis = Some(millis(value()?, "window")?),
            Token::Ttl => self.ttl = Some(millis(value()?, "TTL")?),
            Token::Last => self.is_last = true,
            Token::NoRefresh => self.no_refresh = true,
            Token::Generations => {
                let given = value()?.integer().and_then(|given| u32::try_from(given).ok());
                let is_valid = |n: &u32| (MIN_GENERATIONS..=MAX_GENERATIONS).contains(n);
                let generations = given.filter(is_valid);
                self.generations =
                    Some(generations.ok_or(c"ERR generations must be in the range [2, 64]")?);
            }
        }
        Ok(())
    }

    /// Checks the options together. `has_growth` is true if NONSCALING or EXPANSION is given.
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn check(&self, capacity: u64, layout: Layout, has_growth: bool) -> Result<(), Failure> {
        let Some(window) = self.window() else {
            return if self.no_refresh {
                Err(c"ERR NOREFRESH needs WINDOW, LAST or GENERATIONS".into())
            } else {
                Ok(())
            };
        };
        if self.millis.is_some() && self.is_last {
            return Err(c"ERR WINDOW and LAST exclude each other".into());
        }
        if layout != Layout::Bloomline {
            return Err(c"ERR a filter that forgets must have LAYOUT BLOOMLINE".into());
        }
        if window == Window::Last && has_growth {
            return Err(
                c"ERR a LAST filter never grows: NONSCALING and EXPANSION do not apply".into()
            );
        }
        let generations = self.generations();
        if u64::from(generations) > capacity {
            return Err(Failure::Formatted(format!(
                "ERR {generations} generations need a capacity of at least {generations}"
            )));
        }
        Ok(())
    }

    /// The filter that forgets, if it does.
    pub fn windowed(&self, spec: Spec) -> Option<WindowSpec> {
        let Spec { capacity, error_rate, growth } = spec;
        let (generations, refreshes) = (self.generations(), !self.no_refresh);
        let window = self.window()?;
        let growth = if window == Window::Last { LAST_GROWTH } else { growth };
        Some(WindowSpec { capacity, error_rate, growth, window, generations, refreshes })
    }

    fn window(&self) -> Option<Window> {
        match (self.millis, self.is_last, self.generations) {
            (Some(millis), ..) => Some(Window::Time { millis }),
            (None, true, _) => Some(Window::Last),
            (None, false, Some(_)) => Some(Window::Manual),
            (None, false, None) => None,
        }
    }

    fn generations(&self) -> u32 {
        self.generations.unwrap_or(DEFAULT_GENERATIONS)
    }
}

/// Seconds as milliseconds.
fn millis(arg: Arg, name: &str) -> Result<u64, Failure> {
    let seconds = arg.integer().and_then(|given| u64::try_from(given).ok());
    seconds.filter(|seconds| (1..=MAX_SECONDS).contains(seconds)).map(|n| n * 1000).ok_or_else(
        || {
            Failure::Formatted(format!(
                "ERR {name} must be in the range [1, {MAX_SECONDS}] seconds"
            ))
        },
    )
}
