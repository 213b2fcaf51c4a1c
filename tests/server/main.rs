//! The module in real servers, as clients, replicas and operators use it.
//!
//! Every test runs on all servers that `bloomline_harness` finds. A folder is a concern, and a file
//! in it is the part of that concern that belongs to a command or a feature:
//!
//! | the test is about | folder | of BF.MERGE, for example |
//! |---|---|---|
//! | replies, errors and arguments | `commands` | `commands::merge` |
//! | access rules | `acl` | `acl` |
//! | a changed key: events, WATCH, caching, TTL, MULTI, COPY | `keyspace` | `keyspace::changes` |
//! | a limit of memory | `limits` | `limits::changes` |
//! | memory taken, reported, moved, freed | `memory` | `memory::defrag` |
//! | what is replicated; scripts | `replication` | `replication::streams` |
//! | files, full sync, DUMP, chunks, COPY, MIGRATE | `entry_points` | the kinds `merged` |
//! | slots, failover, links of several servers | `cluster` | `cluster::slots` |
//! | recipes of the docs that replace servers or filters, under load | `moves` | `moves::filters` |
//! | COMMAND, DEBUG DIGEST, INFO | `introspection` | `introspection::command_table` |
//! | what a windowed filter finds and forgets | `windows` | |
//! | bytes made to do harm | `hostile` | `hostile::forged` |
//! | crashes, full disks, lack of memory | `faults` | |
//! | all operations on all kinds, beside random calls | `life` | |
//! | the same under load; latencies | `soak` | |
//! | other modules in the same server | `modules` | |
//! | settings and load arguments | `settings` | |
//! | RedisBloom's layout; RedisBloom itself | `redisbloom`, `redisbloom_live` | |
//!
//! Kinds of filters, of both families, are data: a test that must hold for every kind runs over
//! [`filters::all`]. What only cuckoo filters have is in the file `cuckoo` of each folder. The
//! other files are tools of several folders: [`calls`] (random ones), [`inspect`] (queries),
//! [`overlapping`] (filters to merge), [`packed`] (items in one string), [`timed`] (servers with
//! moved clocks), [`windowed`] (fields of headers).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod acl;
mod calls;
mod cluster;
mod commands;
mod entry_points;
mod faults;
mod filters;
mod harness;
mod hostile;
mod inspect;
mod introspection;
mod keyspace;
mod life;
mod limits;
mod memory;
mod modules;
mod moves;
mod overlapping;
mod packed;
mod redisbloom;
mod redisbloom_live;
mod replication;
mod settings;
mod soak;
mod timed;
mod valkey_bloom;
mod windowed;
mod windows;
