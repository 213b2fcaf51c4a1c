//! What a primary replicates, and what a server does with replicated commands. That replicas are
//! equal, and that a call is replicated if and only if it has changed something, is in `life`.

mod chains;
mod creations;
mod merging;
mod replicated;
mod scripts;
mod streams;
