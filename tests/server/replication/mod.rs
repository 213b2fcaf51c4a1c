//! What is written for replicas, and what is obeyed when it arrives.

mod effects;
mod obeyed;
mod scripts;
