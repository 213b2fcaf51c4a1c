//! One module follows the other, and takes over.

use super::filters::{all_seen, assert_all_same, fill};
use super::for_each_direction;
use super::stream::Stream;
use crate::cluster::equal::{catch_up, setup};

#[test]
fn a_replica_follows_and_takes_over() {
    for_each_direction(|kind, first| {
        let primary = first.start(setup(), kind);
        let mut client = primary.resp2();
        fill(&mut client);
        let line = format!("replicaof 127.0.0.1 {}", primary.port);
        let replica = first.other().start(setup().line(line), kind);
        let mut follower = replica.resp2();
        catch_up(&mut client, &mut follower);
        assert_all_same(&all_seen(&mut client), &all_seen(&mut follower));

        let mut stream = Stream::new(&mut client);
        stream.run(&mut client, first, 45_000);
        catch_up(&mut client, &mut follower);
        assert_all_same(&all_seen(&mut client), &all_seen(&mut follower));

        follower.ok("REPLICAOF NO ONE");
        client.ok(&format!("REPLICAOF 127.0.0.1 {}", replica.port));
        catch_up(&mut follower, &mut client);
        stream.run(&mut follower, first.other(), 10_000);
        catch_up(&mut follower, &mut client);
        assert_all_same(&all_seen(&mut follower), &all_seen(&mut client));
    });
}
