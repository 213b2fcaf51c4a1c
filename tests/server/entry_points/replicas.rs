//! Replicas: by full synchronisation, by the stream of commands, with other settings.

use bloomline_harness::{Kind, Server, Setup, for_each_build};

use crate::cluster::equal::catch_up;

use super::scenario::{
    assert_nothing_lost, assert_same, assert_usable, build, build_large, observe_all,
};

/// A replica whose own defaults differ from the primary's in every setting.
fn replica_of(kind: &Kind, primary: &Server) -> Server {
    Setup::new()
        .module_args(
            "bf-error-rate 0.1 bf-initial-size 17 bf-expansion-factor 5 bf-max-filter-bytes 1",
        )
        .line(format!("replicaof 127.0.0.1 {}", primary.port))
        .start(kind)
}

#[test]
fn a_full_sync_gives_the_replica_the_same_filters() {
    for_each_build(|kind| {
        for build in [build, build_large] {
            let primary = Setup::new().on_tcp().start(kind);
            let mut client = primary.resp2();
            let made = build(&mut client);
            let before = observe_all(&mut client, &made);
            assert_nothing_lost(&made, &before);
            let replica = replica_of(kind, &primary);
            catch_up(&mut client, &mut replica.resp2());
            assert_same(&mut replica.resp2(), &made, &before);
        }
    });
}

#[test]
fn the_stream_gives_the_replica_the_same_filters() {
    for_each_build(|kind| {
        let primary = Setup::new().on_tcp().start(kind);
        let mut client = primary.resp2();
        let replica = replica_of(kind, &primary);
        client.ok("SET written 1");
        catch_up(&mut client, &mut replica.resp2());

        let made = build(&mut client);
        assert_usable(&mut client, &made);
        let before = observe_all(&mut client, &made);
        client.ok("SET written 2");
        catch_up(&mut client, &mut replica.resp2());
        assert_same(&mut replica.resp2(), &made, &before);

        // After its promotion the replica continues where the primary was.
        replica.resp2().ok("REPLICAOF NO ONE");
        assert_eq!(replica.resp2().ask("BF.ADD many:layers many:1"), ":0");
    });
}

#[test]
fn a_full_filter_does_not_end_its_replica() {
    for_each_build(|kind| {
        let primary = Setup::new().on_tcp().start(kind);
        let mut client = primary.resp2();
        let mut replica = replica_of(kind, &primary);
        // On servers with this setting, a replica ends if a replicated command returns an error.
        replica.resp2().call("CONFIG SET propagation-error-behavior panic");
        client.ok("BF.RESERVE ns 0.001 3 NONSCALING");
        client.call("BF.MADD ns a b c d e f");
        client.call("BF.ADD ns g");
        client.call("BF.INSERT ns ITEMS h i");
        client.call("BF.MADD ns a d");
        catch_up(&mut client, &mut replica.resp2());
        assert_eq!(replica.resp2().ask("BF.DEBUG ns"), client.ask("BF.DEBUG ns"));
        assert_eq!(replica.resp2().ask("BF.MEXISTS ns a b c d"), "*[:1 :1 :1 :0]");
        assert!(replica.is_running());
    });
}
