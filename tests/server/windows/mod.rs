//! What windowed filters find and forget: by time, by count, by hand, with moved clocks.

mod by_count;
mod by_hand;
mod by_time;
mod idle;
mod packed_items;
