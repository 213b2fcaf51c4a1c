//! Recipes of the documentation that replace a server or a filter, followed while programs add
//! items: no acknowledged item is lost.

mod filters;
pub mod page;
mod programs;
mod servers;
mod upgrade;
