//! Numbers that are equal on every processor, and what follows from a fill.

pub mod estimate;
pub mod frozen;
pub mod ln;
pub mod scale;
