//! An upgrade: servers are restarted one after the other, or a single one is.

use bloomline_harness::{
    Client, Kind, Server, Setup, Stop, for_each_server, for_each_server_long, until,
};

use super::page::{Hosts, inline, steps};
use super::programs::{Address, Program};
use crate::cluster::equal::{assert_equal, catch_up, setup};
use crate::cluster::nodes::{Cluster, PRIMARIES};
use crate::cluster::traffic::{assert_has_rounds, while_adding};
use crate::faults::failover::{shorten_timeout, take_over};
use crate::redisbloom_live::for_each_direction;

const PRODUCTION: &str = "docs/how-to/production.md";
const FAIL_OVER: &str = "### Fail over";

const RESERVE: &str = "BF.RESERVE seen 0.000001 100000";

/// A server with a filter and its replica, and the address at which programs find them.
fn hosts(kind: &Kind) -> (Hosts, Address) {
    let old = setup().start(kind);
    let new = setup().follows(&old).start(kind);
    new.resp2().wait_for("master_link_status", "up");
    old.resp2().ok(RESERVE);
    let address = Address::new(old.socket());
    (Hosts { old, new }, address)
}

#[test]
fn a_rolling_upgrade_loses_no_item() {
    let fail_over = steps(PRODUCTION, FAIL_OVER);
    for_each_server(|kind| {
        let (mut hosts, address) = hosts(kind);
        let mut program = Program::new(&address);
        let rounds = while_adding(
            &["seen"],
            |args| program.run(args),
            |rounds| {
                rounds.pass(3);
                hosts.new.restart(Stop::NoSave);
                hosts.new.resp2().wait_for("master_link_status", "up");
                for step in &fail_over {
                    hosts.run(step);
                    if step.moves_programs() {
                        address.set(hosts.new.socket());
                    }
                }
                rounds.pass(3);
                hosts.old.restart(Stop::NoSave);
                // A program that did not go to the new server must not be acknowledged here.
                let refused = hosts.old.resp2().ask("BF.ADD seen late");
                assert!(refused.starts_with("-READONLY"), "{refused}");
                rounds.pass(3);
            },
        );
        let [mut primary, mut replica] = [hosts.new.resp2(), hosts.old.resp2()];
        assert_has_rounds(&mut primary, &["seen"], rounds);
        catch_up(&mut primary, &mut replica);
        assert_equal(&mut primary, &mut replica);
    });
}

/// The loopback port of the primary that a Sentinel names.
fn named_by(sentinel: &mut Client) -> String {
    let address = sentinel.ask("SENTINEL GET-MASTER-ADDR-BY-NAME name");
    address.trim_end_matches(']').rsplit(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn a_failover_with_sentinel_loses_no_item() {
    let fail_over = steps(PRODUCTION, FAIL_OVER);
    let announce = inline(PRODUCTION, FAIL_OVER, "SENTINEL FAILOVER");
    for_each_server_long(|kind| {
        let (mut hosts, address) = hosts(kind);
        let monitor = format!("sentinel monitor name 127.0.0.1 {} 1", hosts.old.port);
        let sentinel = Setup::new().bare().on_tcp().option("--sentinel").line(monitor).start(kind);
        let mut sentinel = sentinel.resp2();
        until("Sentinel to know the replica", || {
            let replicas = sentinel.ask("SENTINEL REPLICAS name");
            replicas.contains("master-link-status $2 ok").then_some(())
        });
        let mut program = Program::new(&address);
        let rounds = while_adding(
            &["seen"],
            |args| program.run(args),
            |rounds| {
                rounds.pass(3);
                for step in &fail_over {
                    hosts.run(step);
                }
                until("Sentinel to accept", || (sentinel.ask(&announce) == "+OK").then_some(()));
                let port = hosts.new.port.to_string();
                until("Sentinel's switch", || (named_by(&mut sentinel) == port).then_some(()));
                address.set(hosts.new.socket());
                rounds.pass(3);
            },
        );
        assert_has_rounds(&mut hosts.new.resp2(), &["seen"], rounds);
    });
}

#[test]
fn a_failover_by_request_in_a_cluster_loses_no_item() {
    for_each_server_long(|kind| {
        let cluster = Cluster::start(kind, |_, setup| setup);
        cluster.nodes.iter().for_each(shorten_timeout);
        let (owner, _) = cluster.owner("{k}");
        let mut router = cluster.router();
        router.run(&[b"BF.RESERVE", b"{k}", b"0.000001", b"100000"]);
        let mut replica = cluster.nodes[owner + PRIMARIES].resp2();
        let rounds = while_adding(
            &["{k}"],
            |args| router.run(args),
            |rounds| {
                rounds.pass(3);
                take_over(&mut replica);
                rounds.pass(3);
            },
        );
        assert_has_rounds(&mut replica, &["{k}"], rounds);
    });
}

/// Restarts a server under a load, after a change of its configuration.
fn restart_under_load(mut server: Server, configure: impl FnOnce(&Server)) {
    server.resp2().ok(RESERVE);
    let address = Address::new(server.socket());
    let mut program = Program::new(&address);
    let rounds = while_adding(
        &["seen"],
        |args| program.run(args),
        |rounds| {
            rounds.pass(3);
            configure(&server);
            server.restart(Stop::NoSave);
            rounds.pass(3);
        },
    );
    assert_has_rounds(&mut server.resp2(), &["seen"], rounds);
}

#[test]
fn a_restart_with_an_append_only_file_loses_no_item() {
    for_each_server(|kind| {
        restart_under_load(setup().line("appendonly yes").start(kind), |_| ());
    });
}

#[test]
fn a_restart_with_the_other_module_loses_no_item() {
    for_each_direction(|kind, first| {
        let server = first.start(setup().line("appendonly yes"), kind);
        restart_under_load(server, |server| {
            server.edit_config(&first.line(), &first.other().line());
        });
    });
}
