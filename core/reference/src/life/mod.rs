//! Random lives of filters, in this process: steps on a filter of any kind, whose answers and bytes
//! are compared with a reference model and with what the filter promises.
//!
//! A life follows from bytes, of a fuzzer or of a seed. A new kind of filter is a row
//! of [`kinds::KINDS`], a new operation is a row of [`steps::STEPS`]. Either is then part of all
//! lives.
//!
//! | module | holds |
//! |---|---|
//! | [`choices`] | what is chosen, from bytes |
//! | [`kinds`] | the table of kinds, and the numbers that a filter is created with |
//! | [`steps`] | the table of operations |
//! | [`filter`] | a filter of either family |
//! | [`oracle`] | the reference model of each layout, bit by bit |
//! | [`promises`] | what a filter promises whatever its layout: which items it finds, and how many |
//! | [`forgery`] | changed bytes of a dump |
//! | [`rounds`] | growth, rates and sizes after many compactions |
//! | [`run`] | the loop, and what must hold after each step |

pub mod choices;
pub mod filter;
pub mod forgery;
pub mod kinds;
pub mod oracle;
pub mod promises;
pub mod rounds;
pub mod run;
pub mod steps;

/// A number from the environment: `BLOOMLINE_LIVES`, by which the number of lives is multiplied, or
/// `BLOOMLINE_SEED`, where the seeds begin.
pub fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a whole number"))
}
