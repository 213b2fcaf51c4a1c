//! Limits of memory: what a client may create, what a server loads in spite of them.

mod copies;
mod filters;
mod refused_items;
mod replicated;
