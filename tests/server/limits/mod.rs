//! Limits of memory: what a client may create, grow, rotate, merge or copy; what a server loads in
//! spite of them.

mod compacting;
mod copies;
mod cuckoo;
mod filters;
mod merging;
mod refused_items;
mod replicated;
mod rotations;
