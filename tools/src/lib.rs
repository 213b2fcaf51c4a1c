//! Programs that print sizes and rates of filters, and what tests compare the docs with.
//!
//! | program | prints |
//! |---|---|
//! | `make plan` ([`plan`], [`bloom`], [`deletable`]) | the layers and bytes of a filter before it is created |
//! | `make wasm` (the crate `bloomline-calculator`) | the same, as WebAssembly for a browser |
//! | `cargo run --release -p bloomline-tools --features rates --bin rates` (`rates`) | the tables of rates in the docs |

pub mod bloom;
pub mod compared;
pub mod deletable;
pub mod plan;
#[cfg(feature = "rates")]
pub mod rates;
pub mod used;
