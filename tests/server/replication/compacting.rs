//! What BF.COMPACT replicates, and what replicas and files make of it.

use bloomline_harness::{Replica, Setup, append_only_file, for_each_server, numbered};

use crate::filters::{build, compact, compactable};
use crate::inspect::info_field;

#[test]
fn a_call_is_replicated_once_and_nothing_if_nothing_changed() {
    Setup::new().on_each_server(|mut client, server| {
        let filters = compactable();
        build(&mut client, &filters);
        let mut link = Replica::attach(&server);
        for filter in &filters {
            let call = format!("BF.COMPACT {}", filter.key);
            client.call(&call);
            // Redis 6.2 puts what is not the call itself into a transaction.
            let lines = link.lines(&server).into_iter();
            let lines: Vec<_> = lines.filter(|line| line.starts_with("BF.")).collect();
            assert_eq!(lines, [format!("{call} 2")]);
            client.call(&call);
            assert_eq!(link.lines(&server), [""; 0], "{call}");
        }
        client.call("BF.COMPACT missing");
        assert_eq!(client.ask("BF.COMPACT k 3"), "-Unknown argument received: '3'");
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

/// Release 0.1 computed another result, and replicated calls without a number.
#[test]
fn files_of_an_earlier_release_give_the_filters_that_it_had() {
    for_each_server(|kind| {
        let layers_after = |call: &[&str]| {
            let server = Setup::new().start(kind);
            server.resp2().ok("BF.RESERVE k 0.01 1000 SEED 7");
            let header = server.resp2().scandump("k", 0).1;
            let words =
                |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect();
            let mut load: Vec<Vec<u8>> = words(&["BF.LOADCHUNK", "k", "1"]);
            load.push(header);
            let mut commands: Vec<Vec<Vec<u8>>> = vec![words(&["SELECT", "0"]), load];
            for round in 0..6 {
                let mut add: Vec<Vec<u8>> = words(&["BF.MADD", "k"]);
                add.extend(numbered(&format!("item{round}"), 1500));
                commands.extend([add, words(call)]);
            }
            let server = Setup::new().append_file(append_only_file(&commands)).start(kind);
            info_field(&mut server.resp2(), "k", "FILTERS")
        };
        let [first, second] =
            [&["BF.COMPACT", "k"][..], &["BF.COMPACT", "k", "2"]].map(layers_after);
        // The first revision leaves a layer for each round or nearly so.
        assert!(first > second && first >= 6, "{first} and {second} layers");
    });
}
