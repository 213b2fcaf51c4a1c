//! What an operator expects of a native type: that the whole server works with it, and shows what it does.

mod freeing;
mod key_life;
mod questions;
mod scripting;
mod tracking;
mod watching;
