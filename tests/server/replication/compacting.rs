//! What BF.COMPACT replicates, and what replicas and files make of it.

use bloomline_harness::{
    Kind, Replica, Server, Setup, Stop, for_each_server, numbered, report_missing,
};

use crate::cluster::equal::{OTHER_SETTINGS, catch_up, setup};
use crate::filters::{build, compact, compactable, observe_all};

/// A server, and a replica with other settings.
fn pair(kind: &Kind, setup_of_primary: Setup) -> (Server, Server) {
    let primary = setup_of_primary.start(kind);
    let replica = setup().module_args(OTHER_SETTINGS).follows(&primary).start(kind);
    catch_up(&mut primary.resp2(), &mut replica.resp2());
    (primary, replica)
}

#[test]
fn a_call_is_replicated_once_and_nothing_if_nothing_changed() {
    Setup::new().on_each_server(|mut client, server| {
        let filters = compactable();
        build(&mut client, &filters);
        let mut link = Replica::attach(&server);
        for filter in &filters {
            let call = format!("BF.COMPACT {}", filter.key);
            client.call(&call);
            assert_eq!(link.lines(&server), std::slice::from_ref(&call));
            client.call(&call);
            assert_eq!(link.lines(&server), [""; 0], "{call}");
        }
        client.call("BF.COMPACT missing");
        assert_eq!(link.lines(&server), [""; 0]);
    });
}

#[test]
fn scripts_replicated_by_text_compact_on_a_replica() {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            return report_missing(kind, "lua-replicate-commands no");
        }
        let by_text = setup().line("lua-replicate-commands no").append_only();
        let (mut primary, replica) = pair(kind, by_text);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        let filters = compactable();
        build(&mut client, &filters);
        for filter in &filters {
            let script = "return redis.call('BF.COMPACT', KEYS[1])";
            let reply = client.ask(&format!("EVAL \"{script}\" 1 {}", filter.key));
            assert!(reply.starts_with(':') && reply != ":0", "{}: {reply}", filter.key);
        }
        catch_up(&mut client, &mut follower);
        let before = observe_all(&mut client, &filters);
        assert_eq!(observe_all(&mut follower, &filters), before);
        primary.restart(Stop::NoSave);
        assert_eq!(observe_all(&mut primary.resp2(), &filters), before);
    });
}

/// The names of the commands in a stream, each once in a row.
fn names(lines: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    names.dedup();
    names
}

#[test]
fn replicas_of_redisbloom_receive_the_content() {
    Setup::new().module_args("bf-redisbloom-replicas yes").on_each_server(|mut client, server| {
        client.ok("BF.RESERVE k 0.001 50000");
        client.items("BF.MADD", "k", &numbered("item", 5000));
        let mut link = Replica::attach(&server);
        assert!(compact(&mut client, "k") > 0);
        assert_eq!(names(&link.lines(&server)), ["MULTI", "DEL", "BF.LOADCHUNK", "EXEC"]);
        assert_eq!(compact(&mut client, "k"), 0);
        assert_eq!(link.lines(&server), [""; 0]);
        client.ok("BF.RESERVE mortal 0.001 50000");
        assert_eq!(client.ask("PEXPIREAT mortal 4102444800000"), ":1");
        link.lines(&server);
        assert!(compact(&mut client, "mortal") > 0);
        let lines = link.lines(&server);
        assert_eq!(names(&lines), ["MULTI", "DEL", "BF.LOADCHUNK", "PEXPIREAT", "EXEC"]);
        assert!(lines.contains(&"PEXPIREAT mortal 4102444800000".to_owned()), "{lines:?}");
    });
}
