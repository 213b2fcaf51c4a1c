//! The options of BF.RESERVE and BF.INSERT that say when items are forgotten: WINDOW, LAST,
//! GENERATIONS and NOREFRESH.

use crate::command::error::Failure;
use crate::command::option;
use crate::server::args::Arg;
use bloomline_core::Layout;
use bloomline_core::host::{
    AnyFilter, MAX_GENERATIONS, MIN_GENERATIONS, Spec, Window, WindowSpec, WindowedFilter,
};

/// When a filter forgets.
#[derive(Clone, Copy, Default)]
pub struct WindowOptions {
    /// Milliseconds of WINDOW.
    millis: Option<u64>,
    pub is_last: bool,
    generations: Option<u32>,
    pub no_refresh: bool,
}

impl WindowOptions {
    /// Sets the window from the value of WINDOW.
    ///
    /// # Errors
    ///
    /// The error reply: the value is out of range.
    pub fn set_window(&mut self, value: Arg) -> Result<(), Failure> {
        self.millis = Some(option::millis(value, "window")?);
        Ok(())
    }

    /// Sets the number of generations from the value of GENERATIONS.
    ///
    /// # Errors
    ///
    /// The error reply: the value is out of range.
    pub fn set_generations(&mut self, value: Arg) -> Result<(), Failure> {
        let given = value.integer().and_then(|given| u32::try_from(given).ok());
        let generations = given.filter(|n| (MIN_GENERATIONS..=MAX_GENERATIONS).contains(n));
        self.generations =
            Some(generations.ok_or(c"ERR generations must be in the range [2, 64]")?);
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
            return Err(c"ERR a windowed filter must have LAYOUT BLOOMLINE".into());
        }
        if window == Window::Last && has_growth {
            return Err(
                c"ERR a LAST filter never grows: NONSCALING and EXPANSION do not apply".into()
            );
        }
        let generations = self.generations.unwrap_or(MIN_GENERATIONS);
        if u64::from(generations) > capacity {
            return Err(Failure::Formatted(format!(
                "ERR {generations} generations need a capacity of at least {generations}"
            )));
        }
        Ok(())
    }

    /// Checks the options against a filter that exists. When it forgets is a promise, which it
    /// cannot keep if it was made for another window. An option that is left out requests nothing.
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn check_existing(&self, filter: &AnyFilter) -> Result<(), Failure> {
        let Some(window) = self.window() else { return Ok(()) };
        let existing = filter.windowed().map(WindowedFilter::spec);
        let (has, requested) = match (existing, self.generations) {
            (None, _) => ("without a window".to_owned(), named(window)),
            (Some(spec), _) if spec.window != window => {
                (format!("with {}", named(spec.window)), named(window))
            }
            (Some(spec), Some(requested)) if spec.generations != requested => {
                let generations = |n| format!("GENERATIONS {n}");
                (format!("with {}", generations(spec.generations)), generations(requested))
            }
            (Some(spec), _) if spec.refreshes && self.no_refresh => {
                ("without NOREFRESH".to_owned(), "NOREFRESH".to_owned())
            }
            _ => return Ok(()),
        };
        Err(Failure::Formatted(format!(
            "ERR the filter exists {has}, but the call has {requested}: use the options of the \
             filter, or another key"
        )))
    }

    /// The windowed filter that these options describe; none without a window.
    pub fn windowed(&self, spec: Spec) -> Option<WindowSpec> {
        let of_window = |window| {
            let spec = WindowSpec::new(spec, window, MIN_GENERATIONS, !self.no_refresh);
            let generations = self.generations.unwrap_or_else(|| spec.default_generations());
            WindowSpec { generations, ..spec }
        };
        self.window().map(of_window)
    }

    fn window(&self) -> Option<Window> {
        match (self.millis, self.is_last, self.generations) {
            (Some(millis), ..) => Some(Window::Time { millis }),
            (None, true, _) => Some(Window::Last),
            (None, false, Some(_)) => Some(Window::Manual),
            (None, false, None) => None,
        }
    }
}

/// The options that create such a window.
fn named(window: Window) -> String {
    match window {
        Window::Time { millis } => format!("WINDOW {}", millis / 1000),
        Window::Last => "LAST".to_owned(),
        Window::Manual => "GENERATIONS alone".to_owned(),
    }
}
