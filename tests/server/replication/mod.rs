//! What a primary replicates, and what a server does with replicated commands.

mod effects;
mod min_replicas;
mod replicated;
mod scripts;
