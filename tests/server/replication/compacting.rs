//! What BF.COMPACT replicates, and what replicas and files make of it.

use bloomline_harness::{Replica, Setup, append_only_file, for_each_server, numbered};

use crate::filters::{build, compactable};
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
