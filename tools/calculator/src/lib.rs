//! The sizes and rates of filters for JavaScript: `make wasm` builds `dist/calculator.wasm`.
//!
//! The numbers are those of `make plan`, and so the module's own: [`bloomline_tools`] computes
//! both.
//!
//! All arguments and results are numbers of JavaScript, so a page needs no glue and no memory of
//! this library. A page plans a filter, then reads the values of that plan:
//!
//! ```js
//! const { instance } = await WebAssembly.instantiate(bytes);
//! const { plan, value, layer, rate_at } = instance.exports;
//! const layers = plan(1e6, 1e5, 0.01, 2); // below 0: a `Refusal`
//! const bytes = value(0); // of `VALUES`
//! const capacity = layer(0, 0); // of the first layer, of `COLUMNS`
//! const rate = rate_at(5e5);
//! ```
//!
//! `docs/calculator` is such a page: `make calculator` writes the file into it as text.
//!
//! No argument ends the program: what is wrong is refused, and what does not exist is NaN. Results
//! above 2^53 are rounded.

mod planned;
mod refusal;

use std::sync::{Mutex, PoisonError};

pub use planned::{COLUMNS, Planned, VALUES};
pub use refusal::Refusal;

/// The filter that was planned last. A page has one thread.
static PLANNED: Mutex<Option<Planned>> = Mutex::new(None);

/// Plans a filter: `items` that will be added, the `capacity` of its first layer, its target
/// `error_rate`, and its `expansion`, 0 for NONSCALING.
///
/// Returns the number of layers, or a [`Refusal`]. There is no plan then.
// SAFETY: no other function of the library has this name.
#[unsafe(no_mangle)]
pub extern "C" fn plan(items: f64, capacity: f64, error_rate: f64, expansion: f64) -> i32 {
    keep(Planned::lasting(items, capacity, error_rate, expansion))
}

/// Plans a windowed filter, for when all of its generations are full: `items` are the distinct
/// items inside each window. For the next three arguments see [`plan`]; 0 for NONSCALING.
///
/// `seconds` are those of WINDOW, 0 for LAST, and below 0 for a filter that is rotated by hand.
/// `refreshes` is 0 for NOREFRESH.
///
/// Returns the number of layers of one generation, or a [`Refusal`]. There is no plan then.
// SAFETY: no other function of the library has this name.
#[unsafe(no_mangle)]
pub extern "C" fn plan_forgetting(
    items: f64,
    capacity: f64,
    error_rate: f64,
    expansion: f64,
    seconds: f64,
    generations: f64,
    refreshes: f64,
) -> i32 {
    let size = [items, capacity, error_rate, expansion];
    keep(Planned::forgetting(size, seconds, generations, refreshes))
}

/// One of the [`VALUES`] of the plan; NaN if there is no plan or no such value.
// SAFETY: no other function of the library has this name.
#[unsafe(no_mangle)]
pub extern "C" fn value(value: u32) -> f64 {
    ask(|planned| planned.value(value))
}

/// One of the [`COLUMNS`] of a layer, oldest first, counted from 0. Of a windowed filter these are
/// the layers of one generation. NaN if there is no plan, no such layer or no such column.
// SAFETY: no other function of the library has this name.
#[unsafe(no_mangle)]
pub extern "C" fn layer(index: u32, column: u32) -> f64 {
    ask(|planned| planned.layer(index, column))
}

/// The computed false-positive rate with another number of items, inside each window of a windowed
/// filter; 0 items are allowed. NaN if there is no plan, and for more items than it was made for.
// SAFETY: no other function of the library has this name.
#[unsafe(no_mangle)]
pub extern "C" fn rate_at(items: f64) -> f64 {
    ask(|planned| planned.rate_at(items))
}

fn keep(planned: Result<Planned, Refusal>) -> i32 {
    let mut kept = PLANNED.lock().unwrap_or_else(PoisonError::into_inner);
    match planned {
        Ok(planned) => kept.insert(planned).layer_count(),
        Err(refusal) => {
            *kept = None;
            refusal as i32
        }
    }
}

fn ask(question: impl FnOnce(&Planned) -> Option<f64>) -> f64 {
    let kept = PLANNED.lock().unwrap_or_else(PoisonError::into_inner);
    kept.as_ref().and_then(question).unwrap_or(f64::NAN)
}
