//! Replicas: by full synchronisation, by the stream of commands, with other settings.

use bloomline_harness::{Kind, Server, for_each_server};

use super::assert_changes_as_built;
use crate::cluster::equal::{OTHER_SETTINGS, catch_up, setup};
use crate::filters::{assert_observed, build, build_all, large, observe_all};

/// A replica whose own defaults differ from the primary's in every setting.
fn replica_of(kind: &Kind, primary: &Server) -> Server {
    setup().module_args(OTHER_SETTINGS).follows(primary).start(kind)
}

#[test]
fn replicas_hold_every_filter() {
    for_each_server(|kind| {
        let primary = setup().start(kind);
        let mut client = primary.resp2();
        let early = replica_of(kind, &primary);
        catch_up(&mut client, &mut early.resp2());
        // The early replica gets the stream of commands, the late one a full synchronisation.
        let filters = build_all(&mut client);
        let late = replica_of(kind, &primary);
        let replicas = [("the stream", &early), ("a full synchronisation", &late)];
        let before = observe_all(&mut client, &filters);
        for (way, replica) in replicas {
            let mut other = replica.resp2();
            catch_up(&mut client, &mut other);
            assert_observed(&mut other, &filters, &before, way);
            assert_eq!(other.ask("DEBUG DIGEST"), client.ask("DEBUG DIGEST"), "{way}");
        }
        // Both follow all changes.
        assert_changes_as_built(kind, &mut client, &filters, "replication");
        let changed = observe_all(&mut client, &filters);
        for (way, replica) in replicas {
            let mut other = replica.resp2();
            catch_up(&mut client, &mut other);
            assert_observed(&mut other, &filters, &changed, way);
            assert_eq!(other.ask("DEBUG DIGEST"), client.ask("DEBUG DIGEST"), "{way}");
        }
        for call in [
            "BF.ADD empty a",
            "BF.BULKADD empty FIXED 1 a",
            "BF.COMPACT empty",
            "BF.ROTATE hand",
            "BF.MERGE empty empty",
            "CF.ADD cuckoo:empty a",
            "CF.DEL cuckoo:half item:1",
            "CF.MDEL cuckoo:half absent",
            // RedisBloom's runs on a replica.
            "CF.COMPACT cuckoo:empty",
        ] {
            assert!(early.resp2().ask(call).starts_with("-READONLY"), "{call}");
        }
        assert_eq!(early.resp2().ask("BF.BULKEXISTS empty LINES absent COUNT"), "*[:1 :0]");
        // After its promotion a replica continues where the primary was.
        early.resp2().ok("REPLICAOF NO ONE");
        assert_eq!(early.resp2().ask("BF.MADD many:layers item:1 item:2"), "*[:0 :0]");
        let deleted = early.resp2().ask("CF.MDEL cuckoo:half item:1 item:1 item:1");
        assert_eq!(deleted, "*[:1 :1 :0]", "the changes have added one of them again");
    });
}

#[test]
fn a_full_sync_copies_filters_of_several_chunks() {
    for_each_server(|kind| {
        let primary = setup().start(kind);
        let mut client = primary.resp2();
        let filters = large();
        build(&mut client, &filters);
        let replica = replica_of(kind, &primary);
        let mut other = replica.resp2();
        catch_up(&mut client, &mut other);
        let expected = observe_all(&mut client, &filters);
        assert_observed(&mut other, &filters, &expected, "a full synchronisation");
    });
}
