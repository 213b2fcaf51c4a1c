//! Each command's replies, errors and the order of its checks, in both protocols.

mod add;
mod arity;
mod bulk;
mod chunks;
mod compact;
mod cuckoo;
mod cuckoo_layout;
mod cuckoo_refusals;
mod dump_of_zeros;
mod help;
mod info;
mod insert;
mod keys;
mod merge;
mod merge_refusals;
mod numbers;
mod reserve;
mod scripting;
mod seed;
mod stats;
mod stats_fill;
mod window_options;
mod window_refusals;
