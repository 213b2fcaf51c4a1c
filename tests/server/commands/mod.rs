//! Each command's replies, errors and the order of its checks, in both protocols.

mod add;
mod arity;
mod chunks;
mod dump_of_zeros;
mod exists;
mod expansion;
mod help;
mod info;
mod info_fields;
mod info_fill;
mod insert;
mod reserve;
mod scripting;
mod seed;
