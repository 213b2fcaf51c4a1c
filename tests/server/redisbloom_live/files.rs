//! A server starts with the other module from the files of the one before, and back.

use bloomline_harness::{Client, Setup, Stop, numbered};

use super::filters::{add_large, all_seen, assert_all_same, fill, insert};
use super::for_each_direction;

/// The file after `write` is loaded by the other module, changed by it, and loaded by the first.
fn there_and_back(lines: &[&str], stop: Stop, write: impl Fn(&mut Client) + Sync) {
    for_each_direction(|kind, first| {
        let setup = lines.iter().fold(Setup::new(), |setup, line| setup.line(*line));
        let mut server = first.start(setup, kind);
        fill(&mut server.resp2());
        for module in [first, first.other()] {
            let mut client = server.resp2();
            write(&mut client);
            let before = all_seen(&mut client);
            server.edit_config(&module.line(), &module.other().line());
            server.restart(stop);
            let mut client = server.resp2();
            assert_all_same(&before, &all_seen(&mut client));
            for key in client.keys() {
                insert(&mut client, &key, &numbered("more", 150));
            }
        }
    });
}

fn rewrite(client: &mut Client) {
    if client.ask("EXISTS large") == ":0" {
        add_large(client);
    }
    client.call("BGREWRITEAOF");
    client.wait_for_saves();
}

#[test]
fn an_rdb_file_is_loaded_by_the_other_module() {
    there_and_back(&[], Stop::Save, |_| ());
}

#[test]
fn an_aof_is_loaded_by_the_other_module() {
    let lines = ["appendonly yes", "auto-aof-rewrite-percentage 0"];
    there_and_back(&lines, Stop::NoSave, |_| ());
}

#[test]
fn an_aof_rewritten_as_rdb_is_loaded_by_the_other_module() {
    there_and_back(&["appendonly yes", "aof-use-rdb-preamble yes"], Stop::NoSave, rewrite);
}

#[test]
fn an_aof_rewritten_as_commands_is_loaded_by_the_other_module() {
    there_and_back(&["appendonly yes", "aof-use-rdb-preamble no"], Stop::NoSave, rewrite);
}
