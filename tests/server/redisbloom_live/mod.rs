//! RedisBloom itself as the peer: filters go from one module to the other and back.
//!
//! Both modules run on the same server. Each test begins once with Bloomline and once with
//! RedisBloom. Bloomline makes filters in RedisBloom's layout. `make servers` fetches RedisBloom.

mod differences;
mod files;
mod filters;
mod followed;
mod payloads;
mod random;
mod replicas;
mod stream;

use bloomline_harness::{
    Kind, Server, Setup, for_each_server_long, module, redisbloom, report_missing,
};

/// One of the two modules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Module {
    Bloomline,
    RedisBloom,
}

impl Module {
    /// The line of the configuration that loads it.
    pub fn line(self) -> String {
        match self {
            Self::Bloomline => format!(
                "loadmodule {} bf-layout redisbloom cf-layout redisbloom",
                module().display()
            ),
            Self::RedisBloom => {
                format!("loadmodule {}", redisbloom().expect("a peer").display())
            }
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::Bloomline => Self::RedisBloom,
            Self::RedisBloom => Self::Bloomline,
        }
    }

    pub fn start(self, setup: Setup, kind: &Kind) -> Server {
        setup.bare().line(self.line()).start(kind)
    }
}

/// Runs the test on each server, with either module as the first one.
pub fn for_each_direction(test: impl Fn(&Kind, Module) + Sync) {
    for_each_server_long(|kind| {
        if redisbloom().is_none() {
            return report_missing(kind, "RedisBloom in redis-7.4; `make servers` fetches it");
        }
        for first in [Module::Bloomline, Module::RedisBloom] {
            test(kind, first);
        }
    });
}
