//! A filter with more bytes than one bulk string may have, and the ways to move it.

use bloomline_harness::{Client, for_newest_servers, int, show};

use super::equal::{assert_same_digest, setup};
use super::filled::fill;

/// The limit on one string from a client, an eighth of the default.
const BULK_LIMIT: usize = 64 << 20;

#[test]
fn filters_beyond_the_bulk_limit_move_by_chunks_or_setting() {
    for_newest_servers(|kind| {
        let limit = format!("proto-max-bulk-len {BULK_LIMIT}");
        let [source, target] =
            [(), ()].map(|()| setup().line("rdbcompression no").line(&limit).start(kind));
        let (mut from, mut to) = (source.resp2(), target.resp2());
        let bytes = fill(&mut |args| from.run(args), "k", 49_000_000);
        from.call("BF.MADD k a b c");
        assert!(bytes > BULK_LIMIT, "{bytes} bytes of bits");
        // DUMP works. The script returns only its length, which keeps the payload off the
        // connection.
        let dump_len = int(&from.call(r#"EVAL "return #redis.call('DUMP', KEYS[1])" 1 k"#));
        assert!(dump_len as usize > bytes, "{dump_len} bytes");
        // Frees the script's copy of the payload.
        from.ok("SCRIPT FLUSH");

        // The server refuses the payload before it reads the bytes, and neither side changes.
        let mut refused = target.resp2();
        refused.send_raw(
            format!("*4\r\n$7\r\nRESTORE\r\n$1\r\nk\r\n$1\r\n0\r\n${dump_len}\r\n").as_bytes(),
        );
        let reply = show(&refused.receive("RESTORE"));
        assert_eq!(reply, "-ERR Protocol error: invalid bulk length");
        let migrate = format!("MIGRATE 127.0.0.1 {} k 0 120000", target.port);
        let reply = from.ask(&migrate);
        assert!(reply.starts_with("-ERR") || reply.starts_with("-IOERR"), "{reply}");
        assert_eq!((from.ask("EXISTS k"), to.ask("EXISTS k")), (":1".into(), ":0".into()));

        in_chunks(&mut from, &mut to);
        assert_same_digest(&mut from, &mut to, "k");
        assert_eq!(to.ask("UNLINK k"), ":1");

        to.ok("CONFIG SET proto-max-bulk-len 2gb");
        from.ok(&format!("{migrate} COPY"));
        assert_same_digest(&mut from, &mut to, "k");
        assert_eq!(to.ask("BF.MEXISTS k a b c"), "*[:1 :1 :1]");
    });
}

/// Copies the filter with BF.SCANDUMP and BF.LOADCHUNK.
fn in_chunks(from: &mut Client, to: &mut Client) {
    let mut at = 0;
    loop {
        let (next, data) = from.scandump("k", at);
        if next == 0 {
            return;
        }
        assert_eq!(to.loadchunk("k", next, &data), "+OK", "at {next}");
        at = next;
    }
}
