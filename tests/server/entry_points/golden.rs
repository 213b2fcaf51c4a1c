//! Filters that earlier releases wrote are loaded, and compacted.

use bloomline_harness::{Client, Setup};
use bloomline_reference::golden::{Golden, all};

use crate::filters::{compact, observe};
use crate::inspect::info_field;

/// Loads a golden filter as a client does that dumped it: its header, then its bits.
pub fn load(client: &mut Client, Golden { key, header, bits }: &Golden) {
    assert_eq!(client.loadchunk(key, 1, header), "+OK", "{key}");
    // A chunk holds the bits of one layer. After the header alone they are zeros.
    let (mut rest, mut at) = (&bits[..], 1);
    while !rest.is_empty() {
        let (next, zeros) = client.scandump(key, at);
        let (part, others) = rest.split_at(zeros.len());
        assert_eq!(client.loadchunk(key, next, part), "+OK", "{key} at {next}");
        (rest, at) = (others, next);
    }
    assert_eq!(client.scandump(key, at).0, 0, "{key}");
}

#[test]
fn filters_of_earlier_releases_are_compacted() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        // Windowed filters, which have a number at this offset, are not compacted.
        for filter in all().iter().filter(|filter| filter.header[13] == 0) {
            let name = &filter.key;
            load(&mut client, filter);
            let size = info_field(&mut client, name, "SIZE");
            let items = client.ask(&format!("BF.CARD {name}"));
            let freed = compact(&mut client, name);
            assert_eq!(info_field(&mut client, name, "SIZE"), size - freed, "{name}");
            assert_eq!(client.ask(&format!("BF.CARD {name}")), items, "{name}");
            assert_eq!(compact(&mut client, name), 0, "{name}");
            client.copy_by_chunks(name, "copy");
            let expected = observe(&mut client, name);
            assert_eq!(observe(&mut client, "copy"), expected, "{name}");
            client.ok("FLUSHALL");
        }
    });
}
