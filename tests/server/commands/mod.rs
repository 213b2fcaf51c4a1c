//! Each command's replies, errors and the order of its checks, in both protocols.

mod add;
mod arity;
mod chunks;
mod dump_of_zeros;
mod exists;
mod expansion;
mod info;
mod insert;
mod registration;
mod reserve;
mod scripting;
