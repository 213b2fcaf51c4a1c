//! DUMP payloads that are truncated or damaged, with a correct checksum so that they reach the
//! decoder.

use bloomline_harness::{Client, Server, for_each_server, seal_dump, truncate_dump};

use super::{assert_works, damaged};

/// Bytes after the value: version and checksum.
const FOOTER: usize = 10;

/// Payloads of a filter of one layer, of one of several layers, and of a full one.
fn dumps(client: &mut Client) -> Vec<Vec<u8>> {
    client.call("BF.MADD one a b c");
    client.ok("BF.RESERVE several 0.01 3 EXPANSION 1");
    client.call("BF.MADD several a b c d e f g");
    client.ok("BF.RESERVE full 0.1 2 NONSCALING");
    client.call("BF.MADD full a b c");
    let dumps = ["one", "several", "full"].map(|key| client.dump(key));
    client.ok("FLUSHALL");
    dumps.into()
}

fn restore(client: &mut Client, payload: &[u8]) -> String {
    client.restore("k", payload)
}

/// The server stores strings verbatim, so that damage hits the bits, or compressed, so that it hits
/// lengths.
const COMPRESSION: [&str; 2] = ["rdbcompression no", "rdbcompression yes"];

#[test]
fn truncated_payloads_are_errors() {
    for_each_server(|kind| {
        for compression in COMPRESSION {
            let server = Server::start(kind, &[compression]);
            let mut client = server.resp2();
            for dump in dumps(&mut client) {
                for length in 0..dump.len() {
                    let reply = restore(&mut client, &dump[..length]);
                    assert!(reply.starts_with("-ERR"), "cut to {length}: {reply}");
                }
                for length in 1..dump.len() - FOOTER {
                    let reply = restore(&mut client, &truncate_dump(&dump, length));
                    client.assert_answers_ping("a cut payload");
                    // The footer, of up to ten bytes, can replace the end of the value where it
                    // happens to fit: bits may have any value, and one checksum in 256 ends in the
                    // zero that ends a value.
                    if reply == "+OK" && length + FOOTER >= dump.len() - FOOTER {
                        assert_works(&mut client, "k", &format!("a value cut to {length}"));
                    } else {
                        assert_eq!(reply, "-ERR Bad data format", "value cut to {length}");
                    }
                }
                assert_eq!(restore(&mut client, &dump), "+OK");
                assert_works(&mut client, "k", "the whole payload");
            }
            assert_eq!(client.ask("DBSIZE"), ":0");
        }
    });
}

#[test]
fn a_damaged_byte_is_an_error_or_makes_a_usable_filter() {
    for_each_server(|kind| {
        for compression in COMPRESSION {
            let server = Server::start(kind, &[compression]);
            let mut client = server.resp2();
            for dump in dumps(&mut client) {
                let mut accepted = 0;
                // The first byte selects the server's own types, which are not under test.
                for at in 1..dump.len() - FOOTER {
                    for damage in damaged(dump[at]) {
                        let mut body = dump[..dump.len() - 8].to_vec();
                        body[at] = damage;
                        let what = format!(
                            "byte {at} of {} turned from {:#04x} to {damage:#04x}",
                            dump.len(),
                            dump[at]
                        );
                        let reply = restore(&mut client, &seal_dump(&body));
                        // No error is about version or checksum, so the decoder was reached.
                        assert!(
                            reply == "+OK" || reply == "-ERR Bad data format",
                            "{what}: {reply}"
                        );
                        client.assert_answers_ping(&what);
                        if reply == "+OK" {
                            accepted += 1;
                            assert_works(&mut client, "k", &what);
                        }
                    }
                }
                // Damaged bits are accepted. If no payload was accepted, the decoder was not
                // reached.
                assert!(accepted > 0);
            }
        }
    });
}

#[test]
fn refused_payloads_leak_no_memory() {
    for_each_server(|kind| {
        let server = Server::start(kind, &["rdbcompression no"]);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.01 100000");
        // An empty filter's payload has no bits that could be truncated.
        client.call("BF.ADD k a");
        let dump = client.dump("k");
        client.ok("FLUSHALL");
        let used = |client: &mut Client| client.info_number("used_memory");
        let cut = truncate_dump(&dump, dump.len() - FOOTER - 100);
        restore(&mut client, &cut);
        let before = used(&mut client);
        for _ in 0..100 {
            assert_eq!(restore(&mut client, &cut), "-ERR Bad data format");
        }
        // 100 filters of 140 kB would be 14 MB.
        let grown = used(&mut client).saturating_sub(before);
        assert!(grown < 2 << 20, "{grown} bytes");
    });
}
