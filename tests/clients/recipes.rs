//! The recipe in Rust of docs/how-to/clients.md, which stands here unchanged.

use bloomline_harness::{Setup, for_each_server};
use redis::{Client, Connection, RedisResult, cmd};

/// Adds lines to a filter, and returns those that were new.
fn add_lines<'a>(
    connection: &mut Connection,
    key: &str,
    lines: &'a str,
) -> RedisResult<Vec<&'a str>> {
    let (_, bitmap): (usize, Vec<u8>) =
        cmd("BF.BULKADD").arg(key).arg("LINES").arg(lines).query(connection)?;
    let is_new = |i: usize| bitmap[i / 8] >> (7 - i % 8) & 1 == 1;
    Ok(lines.lines().enumerate().filter(|&(i, _)| is_new(i)).map(|(_, line)| line).collect())
}

#[test]
fn rust_of_the_page_returns_the_new_lines() {
    let page = include_str!("../../docs/how-to/clients.md");
    let block = page.split_once("```rust\n").unwrap().1.split_once("```").unwrap().0;
    assert!(include_str!("recipes.rs").contains(block), "the page shows another function");
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        for protocol in ["resp2", "resp3"] {
            let url = format!("unix://{}?protocol={protocol}", server.socket().display());
            let mut connection = Client::open(url).unwrap().get_connection().unwrap();
            cmd("FLUSHALL").exec(&mut connection).unwrap();
            assert_eq!(add_lines(&mut connection, "seen", "a\r\nb\na").unwrap(), ["a", "b"]);
            assert_eq!(add_lines(&mut connection, "seen", "b\nc\n").unwrap(), ["c"]);
            assert_eq!(add_lines(&mut connection, "seen", "").unwrap(), [""; 0]);
            // redis-rs returns the error of a refused item as the error of the call.
            cmd("BF.RESERVE")
                .arg("few")
                .arg(0.01)
                .arg(1)
                .arg("NONSCALING")
                .exec(&mut connection)
                .unwrap();
            let refused = add_lines(&mut connection, "few", "a\nb").unwrap_err();
            assert!(refused.to_string().contains("non scaling filter is full"), "{refused}");
            let found: bool = cmd("BF.EXISTS").arg("few").arg("a").query(&mut connection).unwrap();
            assert!(found);
        }
    });
}
