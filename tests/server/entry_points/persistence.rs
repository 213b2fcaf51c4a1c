//! Restarts, from an RDB file and from an append-only file of either kind.

use bloomline_harness::{Client, Setup, Stop};

use super::assert_changes_as_built;
use crate::filters::{assert_observed, build, build_all, large, observe, observe_all};

/// Rewrites the append-only file, with its base as an RDB file or as commands.
fn rewrite(client: &mut Client, preamble: &str) {
    client.ok(&format!("CONFIG SET aof-use-rdb-preamble {preamble}"));
    client.rewrite_append_only_file();
}

fn append_only(setup: Setup) -> Setup {
    setup.append_only()
}

#[test]
fn every_filter_survives_an_rdb_file() {
    Setup::new().debug().on_each_server(|mut client, mut server| {
        let filters = build_all(&mut client);
        let before = observe_all(&mut client, &filters);
        client.ok("DEBUG RELOAD");
        assert_observed(&mut client, &filters, &before, "DEBUG RELOAD");
        // Twice, because what was loaded must be saved as well.
        for restart in ["a restart", "a second restart"] {
            server.restart(Stop::Save);
            assert_observed(&mut server.resp2(), &filters, &before, restart);
        }
        assert_changes_as_built(&server.kind, &mut server.resp2(), &filters, "a restart");
        let changed = observe_all(&mut server.resp2(), &filters);
        server.restart(Stop::Save);
        assert_observed(&mut server.resp2(), &filters, &changed, "changes and a restart");
    });
}

#[test]
fn every_filter_survives_an_append_only_file() {
    append_only(Setup::new().debug()).on_each_server(|mut client, mut server| {
        let filters = build_all(&mut client);
        let before = observe_all(&mut client, &filters);
        for file in ["never rewritten", "rewritten as commands", "rewritten as RDB"] {
            match file {
                "rewritten as commands" => rewrite(&mut server.resp2(), "no"),
                "rewritten as RDB" => rewrite(&mut server.resp2(), "yes"),
                _ => {}
            }
            server.restart(Stop::NoSave);
            assert_observed(&mut server.resp2(), &filters, &before, file);
        }
        // These changes follow the base that was rewritten.
        assert_changes_as_built(&server.kind, &mut server.resp2(), &filters, "a rewrite");
        let changed = observe_all(&mut server.resp2(), &filters);
        server.restart(Stop::NoSave);
        assert_observed(&mut server.resp2(), &filters, &changed, "changes after a rewrite");
        rewrite(&mut server.resp2(), "no");
        server.restart(Stop::NoSave);
        assert_observed(&mut server.resp2(), &filters, &changed, "changes and a rewrite");
    });
}

#[test]
fn filters_of_several_chunks_survive_every_file() {
    append_only(Setup::new().debug()).on_each_server(|mut client, mut server| {
        let filters = large();
        build(&mut client, &filters);
        let before = observe_all(&mut client, &filters);
        for (filter, before) in filters.iter().zip(&before) {
            let key = &filter.key;
            assert_eq!(client.ask(&format!("COPY {key} copied")), ":1");
            client.copy_by_chunks(key, "loaded");
            for copy in ["copied", "loaded"] {
                assert_eq!(&observe(&mut client, copy), before, "{copy} from {key}");
            }
            assert_eq!(client.ask("DEL copied loaded"), ":2");
        }
        rewrite(&mut client, "no");
        server.restart(Stop::NoSave);
        assert_observed(&mut server.resp2(), &filters, &before, "a file of commands");
        server.edit_config("appendonly yes", "appendonly no");
        server.restart(Stop::Save);
        assert_observed(&mut server.resp2(), &filters, &before, "an RDB file");
        for filter in &filters {
            filter.assert_has_items(&mut server.resp2());
        }
    });
}
