//! What BF.COMPACT replicates, and what replicas and files make of it.

use bloomline_harness::{Replica, Setup, numbered};

use crate::filters::{build, compact, compactable};

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
