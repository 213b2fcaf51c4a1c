//! Filters moved between servers of different products and versions: the ways that succeed are
//! those in the table of docs/reference/persistence.md.

use std::collections::BTreeMap;
use std::fs;

use bloomline_harness::{
    Client, DUMP_FOOTER, Kind, Server, Setup, find_servers, for_each_server, one_per_version,
    repository, until,
};

use crate::cluster::equal::{catch_up, setup};
use crate::filters::{Filter, assert_observed, build_all, observe_all};

const PAGE: &str = "docs/reference/persistence.md";
const HEADING: &str = "### Between servers of different versions";

/// What RESTORE answers to a payload of a later version.
const REFUSED_PAYLOAD: &str = "ERR DUMP payload version or checksum are wrong";

/// What the log of a server has that refuses an RDB file, or a full synchronisation. The files of
/// Valkey from 9 on begin in another way than those that older servers know.
const REFUSED_FILE: [&str; 2] =
    ["Can't handle RDB format version", "Wrong signature trying to load DB from file"];

fn is_refused(log: &str) -> bool {
    REFUSED_FILE.iter().any(|line| log.contains(line))
}

/// A server with filters of all kinds, and what moves them.
struct Source {
    server: Server,
    filters: Vec<Filter>,
    before: Vec<Vec<String>>,
    rdb_file: Vec<u8>,
    commands: Vec<u8>,
}

impl Source {
    fn new(kind: &Kind) -> Self {
        let server = setup().append_only().start(kind);
        let mut client = server.resp2();
        let filters = build_all(&mut client);
        let before = observe_all(&mut client, &filters);
        client.ok("SAVE");
        client.rewrite_append_only_file();
        let rdb_file = fs::read(server.file("dump.rdb")).expect("the RDB file");
        let commands = server.read_append_file();
        Self { server, filters, before, rdb_file, commands }
    }

    /// Asserts that the target holds the same filters.
    fn assert_moved(&self, target: &mut Client, way: &str) {
        let way = format!("{way} from {}", self.server.kind.name);
        assert_observed(target, &self.filters, &self.before, &way);
    }

    /// True if the target takes the filters by calls that each answer `+OK` or with this error.
    /// Those of one server are all taken or all refused.
    fn restores(&self, mut call: impl FnMut(&str) -> String, error: &str) -> bool {
        let mut replies: Vec<_> = self.filters.iter().map(|filter| call(&filter.key)).collect();
        replies.sort();
        replies.dedup();
        assert!(replies == ["+OK"] || replies == [error], "{replies:?}");
        replies == ["+OK"]
    }

    fn by_migrate(&self, target: &Server) -> bool {
        let mut from = self.server.resp2();
        let call =
            |key: &str| from.ask(&format!("MIGRATE 127.0.0.1 {} {key} 0 100000 COPY", target.port));
        let error = format!("-ERR Target instance replied with error: {REFUSED_PAYLOAD}");
        let is_taken = self.restores(call, &error);
        if is_taken {
            self.assert_moved(&mut target.resp2(), "MIGRATE");
        }
        is_taken
    }

    fn by_restore(&self, target: &Server) -> bool {
        let (mut from, mut to) = (self.server.resp2(), target.resp2());
        let call = |key: &str| {
            let payload = from.dump(key);
            to.restore(key, &payload)
        };
        let is_taken = self.restores(call, &format!("-{REFUSED_PAYLOAD}"));
        if is_taken {
            self.assert_moved(&mut to, "DUMP and RESTORE");
        }
        is_taken
    }

    fn by_chunks(&self, target: &Server) -> bool {
        let (mut from, mut to) = (self.server.resp2(), target.resp2());
        for filter in &self.filters {
            to.load_chunks(from.family(&filter.key), &filter.key, &from.chunks(&filter.key));
        }
        self.assert_moved(&mut to, "chunks");
        true
    }

    /// A replica that refuses what it receives tries it again and again, and never comes up.
    fn by_replica(&self, target: &Server) -> bool {
        let mut replica = target.resp2();
        replica.ok(&format!("REPLICAOF 127.0.0.1 {}", self.server.port));
        let is_up = until("a full synchronisation, or its refusal", || {
            if replica.info("master_link_status") == "up" {
                return Some(true);
            }
            is_refused(&target.log()).then_some(false)
        });
        if is_up {
            catch_up(&mut self.server.resp2(), &mut replica);
            self.assert_moved(&mut replica, "replication");
        }
        is_up
    }

    fn by_rdb_file(&self, kind: &Kind, setup: &Setup) -> bool {
        match setup.clone().rdb_file(self.rdb_file.clone()).try_start(kind) {
            Ok(target) => {
                self.assert_moved(&mut target.resp2(), "an RDB file");
                true
            }
            Err(log) => {
                assert!(is_refused(&log), "{}:\n{log}", kind.name);
                false
            }
        }
    }

    fn by_commands(&self, kind: &Kind, setup: &Setup) -> bool {
        let target = setup.clone().append_file(self.commands.clone()).start(kind);
        self.assert_moved(&mut target.resp2(), "an append-only file of commands");
        true
    }

    /// The ways that lead to a server of this kind, as the page names them.
    fn ways_to(&self, kind: &Kind, setup: &Setup) -> String {
        let target = setup.clone().start(kind);
        let ways = [
            ("MIGRATE", Self::by_migrate as fn(&Self, &Server) -> bool),
            ("DUMP", Self::by_restore),
            ("chunks", Self::by_chunks),
            ("replica", Self::by_replica),
        ];
        let mut found = Vec::new();
        for (way, leads) in ways {
            target.resp2().ok("FLUSHALL");
            found.push((way, leads(self, &target)));
        }
        found.push(("RDB file", self.by_rdb_file(kind, setup)));
        found.push(("commands", self.by_commands(kind, setup)));
        if found.iter().all(|(_, leads)| *leads) {
            return "all".to_owned();
        }
        let ways = found.iter().filter(|(_, leads)| *leads).map(|(way, _)| *way);
        ways.collect::<Vec<_>>().join(", ")
    }
}

/// The versions that a heading of the table names: `redis-7.4` and `redis-8.0` of `Redis 7.4, 8.0`.
fn series(heading: &str) -> Vec<String> {
    let (product, versions) = heading.split_once(' ').expect("a product and its versions");
    versions.split(", ").map(|version| format!("{}-{version}", product.to_lowercase())).collect()
}

/// The table of the page: the ways by the version of the source and that of the target.
fn on_the_page() -> BTreeMap<(String, String), String> {
    let text = fs::read_to_string(repository().join(PAGE)).expect(PAGE);
    let (_, section) = text.split_once(&format!("\n{HEADING}\n")).expect(HEADING);
    let table = section.lines().skip_while(|line| !line.starts_with('|'));
    let mut rows = table.take_while(|line| line.starts_with('|')).map(|line| {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    });
    let targets = rows.next().expect("a head");
    let mut ways = BTreeMap::new();
    for row in rows.skip(1) {
        for (cell, target) in row.iter().zip(&targets).skip(1) {
            for (from, to) in series(&row[0])
                .into_iter()
                .flat_map(|from| series(target).into_iter().map(move |to| (from.clone(), to)))
            {
                let double = ways.insert((from, to), cell.clone());
                assert_eq!(double, None, "{} and {target} are there twice", row[0]);
            }
        }
    }
    ways
}

#[test]
fn moves_between_versions_are_those_of_the_page() {
    let page = on_the_page();
    let kinds = one_per_version(&find_servers().expect("servers"));
    let sources: Vec<_> = kinds.iter().map(Source::new).collect();
    for source in &sources {
        let payload = source.server.resp2().dump("few");
        let footer = payload[payload.len() - DUMP_FOOTER..].first_chunk().expect("a footer");
        let (version, from) = (u16::from_le_bytes(*footer), source.server.kind.series());
        let is_common =
            !["redis-7.4", "redis-8.", "valkey-9."].iter().any(|it| from.starts_with(it));
        let is_stated = match version {
            12 => from.starts_with("redis-"),
            80 => from.starts_with("valkey-9."),
            _ => is_common && version <= 11,
        };
        assert!(is_stated, "{from} writes version {version}");
    }
    for_each_server(|kind| {
        for source in &sources {
            let from = source.server.kind.series();
            let shown = page.get(&(from.to_owned(), kind.series().to_owned()));
            let ways = source.ways_to(kind, &setup());
            assert_eq!(shown, Some(&ways), "from {from} to {}", kind.series());
        }
    });
}

#[test]
fn relaxed_valkey_9_takes_filters_of_every_redis() {
    let mut kinds = one_per_version(&find_servers().expect("servers"));
    kinds.retain(|kind| kind.name.starts_with("redis-"));
    let setup = setup().line("rdb-version-check relaxed");
    for_each_server(|kind| {
        if kind.name.starts_with("valkey-9") {
            for source in kinds.iter().map(Source::new) {
                let from = source.server.kind.series();
                assert_eq!(source.ways_to(kind, &setup), "all", "from {from}");
            }
        }
    });
}
