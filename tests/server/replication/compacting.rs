//! What BF.COMPACT replicates, and what replicas and files make of it.

use bloomline_harness::{Replica, Setup};

use crate::filters::{build, compactable};

#[test]
fn a_call_is_replicated_once_and_nothing_if_nothing_changed() {
    Setup::new().on_each_server(|mut client, server| {
        let filters = compactable();
        build(&mut client, &filters);
        let mut link = Replica::attach(&server);
        for filter in &filters {
            let call = format!("BF.COMPACT {}", filter.key);
            client.call(&call);
            assert_eq!(link.lines(&server), [call.as_str()]);
            client.call(&call);
            assert_eq!(link.lines(&server), [""; 0], "{call}");
        }
        client.call("BF.COMPACT missing");
        assert_eq!(link.lines(&server), [""; 0]);
    });
}
