//! Saves and rewrites, consecutively and without a pause.

use std::path::Path;
use std::thread;
use std::time::Duration;

use bloomline_harness::Client;

use super::Load;

/// Writes the data set in every way until the load ends; returns the number of writes.
pub fn save_repeatedly(socket: &Path, load: &Load) -> u64 {
    let mut client = Client::connect(socket).expect("a connection");
    let mut saves = 0;
    while load.continues() {
        let kind = ["no", "yes"][saves as usize / 2 % 2];
        client.ok(&format!("CONFIG SET aof-use-rdb-preamble {kind}"));
        let (command, status) = match saves % 2 {
            0 => ("BGSAVE", "rdb_last_bgsave_status"),
            _ => ("BGREWRITEAOF", "aof_last_bgrewrite_status"),
        };
        let started = client.ask(command);
        assert!(!started.starts_with('-'), "{command}: {started}");
        client.wait_for_saves();
        assert_eq!(client.info(status), "ok", "{command}");
        saves += 1;
        thread::sleep(Duration::from_millis(50));
    }
    saves
}
