//! Other modules in the same server: name clashes, calls and callbacks.

mod calls;
mod clash;
mod deleting;
