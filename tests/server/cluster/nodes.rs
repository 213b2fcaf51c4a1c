//! A real cluster: three primaries with a third of the slots each, and one replica per primary.

use bloomline_harness::{Client, Kind, Server, Setup, int, show, until};
use redis::Value;

use super::equal;
use super::router::Router;

/// Slots of a cluster.
const SLOTS: usize = 16_384;
/// Nodes that own slots. Each has one replica.
pub const PRIMARIES: usize = 3;

/// The nodes: the primaries first, then their replicas in the same order.
pub struct Cluster {
    /// All nodes.
    pub nodes: Vec<Server>,
}

impl Cluster {
    /// Starts the nodes and waits until every one of them reports a complete cluster.
    ///
    /// `adapt` changes the setup of the node with this index.
    pub fn start(kind: &Kind, adapt: impl Fn(usize, Setup) -> Setup) -> Self {
        let start = |i: usize| {
            let setup = equal::setup()
                .line("cluster-enabled yes")
                .line("cluster-allow-replica-migration no")
                // A busy machine is no reason for a failover.
                .line("cluster-node-timeout 60000");
            adapt(i, setup).start(kind)
        };
        let cluster = Cluster { nodes: (0..2 * PRIMARIES).map(start).collect() };
        let mut clients: Vec<Client> = cluster.nodes.iter().map(Server::resp2).collect();
        for (i, client) in clients.iter_mut().enumerate() {
            client.ok(&format!("CLUSTER SET-CONFIG-EPOCH {}", i + 1));
        }
        for (i, client) in clients[..PRIMARIES].iter_mut().enumerate() {
            // ADDSLOTSRANGE does not exist on older servers.
            let slots =
                (i * SLOTS / PRIMARIES..(i + 1) * SLOTS / PRIMARIES).map(|slot| slot.to_string());
            let command: Vec<String> =
                ["CLUSTER", "ADDSLOTS"].map(str::to_owned).into_iter().chain(slots).collect();
            assert_eq!(show(&client.run(&command)), "+OK");
        }
        for node in &cluster.nodes[1..] {
            clients[0].ok(&format!("CLUSTER MEET 127.0.0.1 {}", node.port));
        }
        // Roles are assigned only after all nodes have met. A node whose role changes while it is
        // being met stays recorded with the wrong role for long.
        for client in &mut clients {
            wait_for_nodes(client, |nodes| nodes.matches(" connected").count() == 2 * PRIMARIES);
        }
        for i in 0..PRIMARIES {
            let follow = format!("CLUSTER REPLICATE {}", cluster.id(i));
            let client = &mut clients[i + PRIMARIES];
            until("the replica to know its primary", || {
                (client.ask(&follow) == "+OK").then_some(())
            });
        }
        for client in &mut clients {
            wait_for_nodes(client, |nodes| nodes.matches("slave ").count() == PRIMARIES);
            wait_until_complete(client);
            wait_for_shards(client);
        }
        let (primaries, replicas) = clients.split_at_mut(PRIMARIES);
        for (primary, replica) in primaries.iter_mut().zip(replicas) {
            equal::catch_up(primary, replica);
        }
        cluster
    }

    /// A node's name within the cluster.
    pub fn id(&self, node: usize) -> String {
        text(&self.nodes[node].resp2().call("CLUSTER MYID"))
    }

    /// The primary that owns the slot of a key at the start, and the slot.
    pub fn owner(&self, key: &str) -> (usize, i64) {
        let slot = int(&self.nodes[0].resp2().call(&format!("CLUSTER KEYSLOT {key}")));
        let owner =
            (0..PRIMARIES).find(|i| (slot as usize) < (i + 1) * SLOTS / PRIMARIES).expect("a slot");
        (owner, slot)
    }

    /// A client that follows the redirections of the nodes.
    pub fn router(&self) -> Router {
        Router::new(self.nodes.iter().map(|node| (node.port, node.socket())).collect())
    }

    /// Waits until a node has become a primary.
    pub fn wait_for_promotion(&self, node: usize) {
        until("the replica to take over", || {
            (self.nodes[node].resp2().info("role") == "master").then_some(())
        });
    }
}

/// Waits until a node knows all other nodes and `is_known` accepts its list of them.
fn wait_for_nodes(client: &mut Client, is_known: impl Fn(&str) -> bool) {
    until("the nodes to know each other", || {
        let nodes = text(&client.call("CLUSTER NODES"));
        let are_met = nodes.lines().count() == 2 * PRIMARIES && !nodes.contains("handshake");
        (are_met && is_known(&nodes)).then_some(())
    });
}

/// Waits until a node serves all slots.
pub fn wait_until_complete(client: &mut Client) {
    until("the cluster to be complete", || {
        text(&client.call("CLUSTER INFO")).contains("cluster_state:ok").then_some(())
    });
}

/// Waits until a node lists every replica in the shard of its primary.
///
/// The shard of another node is announced last. A Valkey 8.0 that is killed before that cannot read
/// its own file of nodes.
fn wait_for_shards(client: &mut Client) {
    until("the nodes to know their shards", || match client.call("CLUSTER SHARDS") {
        Value::Array(shards) => (shards.len() == PRIMARIES).then_some(()),
        // Redis 6.2 has no shards.
        error => show(&error).starts_with('-').then_some(()),
    });
}

/// The text of a reply.
pub fn text(reply: &Value) -> String {
    match reply {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::VerbatimString { text, .. } => text.clone(),
        other => panic!("expected a text, got {}", show(other)),
    }
}
