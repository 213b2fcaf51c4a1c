//! BF.SCANDUMP, BF.LOADCHUNK: a filter copied chunk by chunk.

use bloomline_harness::{Setup, numbered, rows};

use crate::inspect::layer_bytes;

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn a_scan_ends_with_iterator_zero_and_no_data() {
    Setup::new().check_rows(rows![
        "BF.ADD k a" => ":1" | "#t";
        "BF.SCANDUMP k x" => "-Second argument must be numeric";
        r#"BF.SCANDUMP k """# => "-Second argument must be numeric";
        r#"BF.LOADCHUNK absent 1 """# => "-ERR received bad data";
        "BF.SCANDUMP k 0" => "*[:1 $72 <any>]";
        "BF.SCANDUMP k 1" => "*[:0 $0 ]";
        r#"BF.LOADCHUNK k 0 """# => "-ERR received bad data";
        "BF.SCANDUMP k 100000" => "*[:0 $0 ]";
        "BF.SCANDUMP k -1" => "*[:0 $0 ]";
        "BF.SCANDUMP k -9223372036854775808" => "*[:0 $0 ]";
        "BF.SCANDUMP k 9223372036854775807" => "*[:0 $0 ]";
    ]);
}

#[test]
fn the_iterator_is_the_end_of_the_data_plus_one() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 10");
        client.items("BF.MADD", "k", &numbered("item", 100));
        let (first, header) = client.scandump("k", 0);
        assert_eq!(first, 1);
        assert!(!header.is_empty());
        // A chunk never crosses the end of a layer, by the sizes in BF.DEBUG.
        let layers = layer_bytes(&mut client, "k");
        assert!(layers.len() > 2, "{layers:?}");
        let mut at = 1;
        for bytes in layers {
            let (next, data) = client.scandump("k", at);
            assert_eq!((data.len() as u64, next), (bytes, at + bytes as i64));
            // A scan may continue at any offset.
            let (same, rest) = client.scandump("k", at + 5);
            assert_eq!((same, rest.as_slice()), (next, &data[5..]));
            at = next;
        }
        assert_eq!(client.scandump("k", at), (0, Vec::new()));
    });
}

#[test]
fn chunks_must_lie_inside_a_layer() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 1000");
        client.call("BF.ADD k a");
        client.call("SET text value");
        let before = client.ask("DUMP k");
        let (end, bits) = client.scandump("k", 1);
        let (_, header) = client.scandump("k", 0);

        // A header is accepted only for a missing key.
        assert_eq!(client.loadchunk("k", 1, &header), "-ERR received bad data");
        assert_eq!(client.loadchunk("text", 1, &header), WRONG_TYPE);
        for iterator in [0, -1, i64::MIN] {
            assert_eq!(
                client.loadchunk("k", iterator, &bits),
                "-ERR received bad data",
                "{iterator}"
            );
        }
        assert_eq!(client.loadchunk("k", 3, b"four"), "-ERR received bad data");
        assert_eq!(client.loadchunk("k", 4, b"four"), "-ERR invalid offset - no link found");
        for iterator in [end + 4, end + 1_000_000, i64::MAX] {
            assert_eq!(
                client.loadchunk("k", iterator, b"four"),
                "-ERR invalid offset - no link found",
                "{iterator}"
            );
        }
        assert_eq!(
            client.loadchunk("k", end + 1, b"four"),
            "-ERR invalid chunk - Too big for current filter"
        );
        let longer = [bits.as_slice(), b"x"].concat();
        assert_eq!(
            client.loadchunk("k", end + 1, &longer),
            "-ERR invalid chunk - Too big for current filter"
        );
        assert_eq!(client.ask("DUMP k"), before, "a refused chunk changed the filter");

        assert_eq!(client.loadchunk("k", end, &bits), "+OK");
        assert_eq!(client.loadchunk("k", 1, b""), "+OK");
        assert_eq!(client.loadchunk("k", end - 4, &bits[..bits.len() - 4]), "+OK");
        assert_eq!(client.ask("DUMP k"), before, "equal chunks changed the filter");
        client.assert_answers_ping("chunks");
    });
}
