//! Tables of commands with the replies expected in both protocols.

use super::kinds::Kind;
use super::reply::show;
use super::server::Setup;

/// A command line with the replies expected in RESP2 and in RESP3, in the notation of `show`.
pub type Row = (&'static str, &'static str, &'static str);

/// Writes rows as `"command" => "reply";`, or `"command" => "reply in RESP2" | "reply in RESP3";`.
macro_rules! rows {
    ($($line:literal => $resp2:literal $(| $resp3:literal)?;)*) => {
        &[$(($line, $resp2, rows!(@last $resp2 $($resp3)?))),*]
    };
    (@last $resp2:literal) => { $resp2 };
    (@last $resp2:literal $resp3:literal) => { $resp3 };
}
pub(crate) use rows;

/// Runs the rows in order on a new server, once in each protocol; panics with every reply that
/// differs.
///
/// Redis 6.2 gives modules neither booleans nor maps: there RESP3 clients see the replies of RESP2.
pub fn check_rows(kind: &Kind, setup: Setup, rows: &[Row]) {
    let server = setup.start(kind);
    let mut wrong = String::new();
    for protocol in [2, 3] {
        let mut client = if protocol == 3 { server.resp3() } else { server.resp2() };
        for (line, resp2, resp3) in rows {
            let expected = if protocol == 2 || kind.is_before_7() { resp2 } else { resp3 };
            let got = client.ask(line);
            if !matches(expected, &got) {
                wrong +=
                    &format!("\nRESP{protocol} {line}\n  expected {expected}\n  got      {got}");
            }
        }
        client.assert_answers_ping("the last row");
        client.ok("FLUSHALL");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// True if the text is the pattern, in which `<n>` stands for a number and `<any>` for anything.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some(start) = pattern.find("<n>").into_iter().chain(pattern.find("<any>")).min() else {
        return pattern == text;
    };
    let (before, hole) = pattern.split_at(start);
    let Some(text) = text.strip_prefix(before) else {
        return false;
    };
    if let Some(after) = hole.strip_prefix("<n>") {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        return rest.len() < text.len() && matches(after, rest);
    }
    let after = &hole["<any>".len()..];
    text.char_indices().any(|(at, _)| matches(after, &text[at..])) || matches(after, "")
}

/// Splits a line into words as redis-cli does: blanks separate, `"…"` keeps together, `\xHH \r \n
/// \" \\` inside quotes.
pub fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = line.as_bytes().iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut word = Vec::new();
        match first {
            b' ' => continue,
            b'"' => loop {
                match rest.next().expect("a closing quote") {
                    b'"' => break,
                    b'\\' => {
                        word.push(match rest.next().expect("something behind the backslash") {
                            b'x' => {
                                let digits = [
                                    rest.next().expect("two digits"),
                                    rest.next().expect("two digits"),
                                ];
                                let digits = str::from_utf8(&digits).expect("hexadecimal digits");
                                u8::from_str_radix(digits, 16).expect("hexadecimal digits")
                            }
                            b'r' => b'\r',
                            b'n' => b'\n',
                            other => other,
                        })
                    }
                    byte => word.push(byte),
                }
            },
            byte => {
                word.push(byte);
                while let Some(byte) = rest.next_if(|byte| *byte != b' ') {
                    word.push(byte);
                }
            }
        }
        words.push(word);
    }
    words
}

#[test]
fn a_line_is_split_as_redis_cli_splits_it() {
    assert_eq!(
        words(r#"BF.ADD  k "" "a b" "\x00\xff\r\n\"\\""#),
        [&b"BF.ADD"[..], b"k", b"", b"a b", b"\x00\xff\r\n\"\\"]
    );
}

#[test]
fn a_pattern_has_holes_for_numbers_as_for_anything() {
    assert!(matches(":<n>", ":240") && !matches(":<n>", ":") && !matches(":<n>", ":-1"));
    assert!(
        matches("-ERR <any> bytes", "-ERR needs 7 bytes")
            && matches("a<any>", "a")
            && !matches("a<any>b", "ac")
    );
    assert!(matches("*[:<n> :1]", "*[:22 :1]") && !matches("*[:<n> :1]", "*[:22 :2]"));
}

#[test]
fn replies_are_rendered_with_nothing_lost() {
    let rendered = |bytes: &[u8]| show(&redis::parse_redis_value(bytes).expect("a reply"));
    assert_eq!(
        rendered(b"*4\r\n:1\r\n-ERR non scaling filter is full\r\n+OK\r\n$2\r\nOK\r\n"),
        "*[:1 -ERR non scaling filter is full +OK $2 OK]"
    );
    assert_eq!(rendered(b"%1\r\n+Capacity\r\n#t\r\n"), "%{+Capacity #t}");
    assert_eq!(rendered(b"*4\r\n_\r\n$-1\r\n#f\r\n$0\r\n\r\n"), "*[_ _ #f $0 ]");
    assert_eq!(rendered(b"-Bad capacity\r\n"), "-Bad capacity");
}
