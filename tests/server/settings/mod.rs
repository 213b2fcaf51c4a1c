//! Settings: what each accepts, refuses and does, by each way in.

mod refusals;
mod table;
mod ways;
