//! Recipes that replace a server.

use bloomline_harness::{Client, Kind, find_servers, for_each_server, for_newest_servers, newest};

use super::page::{Hosts, steps, stop};
use super::programs::{Address, CUCKOO, Program};
use crate::cluster::equal::setup;
use crate::cluster::traffic::{assert_has_rounds, while_adding};
use crate::redisbloom_live::for_each_direction;

const VALKEY_BLOOM: &str = "docs/how-to/migrating-from-valkey-bloom.md";
const REDISBLOOM: &str = "docs/how-to/migrating-from-redisbloom.md";

/// The end of a recipe with replicas.
const FAIL_OVER: (&str, &str) = ("docs/how-to/production.md", "### Fail over");

/// Sections of pages, one after the other.
type Recipe = [(&'static str, &'static str)];

/// The keys of a recipe for a whole data set, and of one for a single key.
const ALL: &[&str] = &["seen", CUCKOO];
const ONE: &[&str] = &["seen"];

fn reserve(client: &mut Client, keys: &[&str]) {
    for key in keys {
        let call = if *key == CUCKOO { "CF.RESERVE members" } else { "BF.RESERVE seen 0.000001" };
        client.ok(&format!("{call} 100000"));
    }
}

/// Follows a recipe while programs add items. They go to the new server at the step that names it,
/// or at its end; the old server is stopped then.
fn follow(mut hosts: Hosts, recipe: &Recipe, keys: &[&str]) {
    reserve(&mut hosts.old.resp2(), keys);
    let address = Address::new(hosts.old.socket());
    let mut program = Program::new(&address);
    let steps: Vec<_> = recipe.iter().flat_map(|(page, heading)| steps(page, heading)).collect();
    // A recipe that copies files starts the new server.
    if steps.iter().any(|step| step.command.starts_with("ssh new systemctl start")) {
        hosts.new.kill();
    }
    let rounds = while_adding(
        keys,
        |args| program.run(args),
        |rounds| {
            rounds.pass(3);
            for step in &steps {
                hosts.run(step);
                if step.moves_programs() {
                    address.set(hosts.new.socket());
                }
            }
            address.set(hosts.new.socket());
            if hosts.old.is_running() {
                stop(&mut hosts.old);
            }
            rounds.pass(3);
        },
    );
    assert_has_rounds(&mut hosts.new.resp2(), keys, rounds);
}

/// The old one is a server with Bloomline whose filters have valkey-bloom's bytes, in place of one
/// with valkey-bloom.
fn from_valkey_bloom(old: &Kind, new: &Kind) -> Hosts {
    let layout = setup().module_args("bf-layout valkey-bloom");
    Hosts { old: layout.start(old), new: setup().start(new) }
}

#[test]
fn recipes_from_valkey_bloom_lose_no_item() {
    for_each_server(|kind| {
        follow(from_valkey_bloom(kind, kind), &[(VALKEY_BLOOM, "### A file")], ONE);
        follow(from_valkey_bloom(kind, kind), &[(VALKEY_BLOOM, "### Replicas"), FAIL_OVER], ONE);
        follow(from_valkey_bloom(kind, kind), &[(VALKEY_BLOOM, "### Keys")], ONE);
    });
}

#[test]
fn redis_takes_over_from_valkey_without_a_lost_item() {
    let kinds = find_servers().expect("servers");
    let redis = newest(&kinds, "redis-").expect("a Redis");
    for_newest_servers(|kind| {
        if kind.name.starts_with("valkey-") {
            let hosts = from_valkey_bloom(kind, redis);
            follow(hosts, &[(VALKEY_BLOOM, "### Replicas"), FAIL_OVER], ONE);
        }
    });
}

#[test]
fn recipes_from_redisbloom_and_back_lose_no_item() {
    let recipes: [(&Recipe, &[&str]); 4] = [
        (&[(REDISBLOOM, "## By RDB file")], ALL),
        (&[(REDISBLOOM, "## By replication"), FAIL_OVER], ALL),
        (&[(REDISBLOOM, "## By append-only file")], ALL),
        (&[(REDISBLOOM, "## By DUMP and RESTORE")], ONE),
    ];
    for_each_direction(|kind, first| {
        for (recipe, keys) in recipes {
            let [old, new] = [first, first.other()].map(|module| module.start(setup(), kind));
            follow(Hosts { old, new }, recipe, keys);
        }
    });
}
