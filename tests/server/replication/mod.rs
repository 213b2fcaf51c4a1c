//! What a primary replicates, and what a server does with replicated commands.

mod chains;
mod compacting;
mod cuckoo;
mod effects;
mod link;
mod merging;
mod min_replicas;
mod packed_items;
mod replicated;
mod rotations;
mod scripts;
