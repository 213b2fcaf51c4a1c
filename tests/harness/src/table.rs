//! Tables of commands with the expected replies of both protocols.

use super::kinds::{Kind, for_each_server};
use super::server::Setup;

/// A command line, the expected reply in RESP2, and that in RESP3, in the notation of `show`.
pub type Row = (&'static str, &'static str, &'static str);

/// Writes rows as `"command" => "reply";`, or `"command" => "reply in RESP2" | "reply in RESP3";`.
#[macro_export]
macro_rules! rows {
    ($($line:literal => $resp2:literal $(| $resp3:literal)?;)*) => {
        &[$(($line, $resp2, $crate::rows!(@last $resp2 $($resp3)?))),*]
    };
    (@last $resp2:literal) => { $resp2 };
    (@last $resp2:literal $resp3:literal) => { $resp3 };
}

impl Setup {
    /// Checks the rows on a server of every version, as [`check_rows`].
    pub fn check_rows(&self, rows: &[Row]) {
        for_each_server(|kind| check_rows(kind, self.clone(), rows));
    }
}

/// Runs the rows in order on a [shared](Setup::share) server, once per protocol; panics with every
/// reply that differs.
///
/// In Redis 6.2 modules have neither booleans nor maps, so RESP3 clients receive the replies of
/// RESP2.
pub fn check_rows(kind: &Kind, setup: Setup, rows: &[Row]) {
    let server = setup.share(kind);
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

/// True if the text matches the pattern, in which `<n>` stands for digits and `<any>` for any text.
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
