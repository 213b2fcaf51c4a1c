//! An upgrade: servers are restarted one after the other, or a single one is.

use bloomline_harness::{Stop, for_each_server};

use super::page::{Hosts, steps};
use super::programs::{Address, Program};
use crate::cluster::equal::{assert_equal, catch_up, setup};
use crate::cluster::traffic::{assert_has_rounds, while_adding};

#[test]
fn a_rolling_upgrade_loses_no_item() {
    let fail_over = steps("docs/how-to/production.md", "### Fail over");
    for_each_server(|kind| {
        let old = setup().start(kind);
        let new = setup().follows(&old).start(kind);
        let mut hosts = Hosts { old, new };
        hosts.old.resp2().ok("BF.RESERVE seen 0.000001 100000");
        let address = Address::new(hosts.old.socket());
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

#[test]
fn a_restart_with_an_append_only_file_loses_no_item() {
    for_each_server(|kind| {
        let mut server = setup().line("appendonly yes").start(kind);
        server.resp2().ok("BF.RESERVE seen 0.000001 100000");
        let address = Address::new(server.socket());
        let mut program = Program::new(&address);
        let rounds = while_adding(
            &["seen"],
            |args| program.run(args),
            |rounds| {
                rounds.pass(3);
                server.restart(Stop::NoSave);
                rounds.pass(3);
            },
        );
        assert_has_rounds(&mut server.resp2(), &["seen"], rounds);
    });
}
