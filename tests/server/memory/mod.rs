//! Memory of filters: when it is taken, how it is counted, moved and freed.

mod defrag;
mod freeing;
mod neighbours;
mod neighbours_defrag;
mod resident;
mod strings;
mod usage;
