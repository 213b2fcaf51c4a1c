//! What is written for replicas, and what is obeyed when it arrives.

mod effects;
mod min_replicas;
mod replicated;
mod scripts;
