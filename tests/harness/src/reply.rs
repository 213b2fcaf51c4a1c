//! Replies as one line of text, so that expected replies are readable.

use std::fmt::Write;

use redis::Value;

/// Renders a reply. Each value begins with its type character of the protocol.
///
/// `:1` `#t` `+OK` `-ERR text` `$5 hello` `*[:1 :2]` `%{+Capacity :100}` `_` (null, in both
/// protocols). Bytes that are not printable are written as `\xHH`.
pub fn show(value: &Value) -> String {
    match value {
        Value::Nil => "_".to_owned(),
        Value::Int(n) => format!(":{n}"),
        Value::BulkString(bytes) => format!("${} {}", bytes.len(), bytes.escape_ascii()),
        Value::SimpleString(text) => format!("+{text}"),
        Value::Okay => "+OK".to_owned(),
        Value::Boolean(true) => "#t".to_owned(),
        Value::Boolean(false) => "#f".to_owned(),
        Value::Double(number) => format!(",{number}"),
        Value::Array(items) => format!("*[{}]", list(items)),
        Value::Set(items) => format!("~[{}]", list(items)),
        Value::Map(pairs) => {
            let flat: Vec<String> = pairs
                .iter()
                .map(|(name, value)| format!("{} {}", show(name), show(value)))
                .collect();
            format!("%{{{}}}", flat.join(" "))
        }
        Value::ServerError(error) => {
            let mut text = format!("-{}", error.code());
            if let Some(details) = error.details() {
                let _ = write!(text, " {details}");
            }
            text
        }
        Value::VerbatimString { text, .. } => format!("={text}"),
        other => format!("{other:?}"),
    }
}

fn list(items: &[Value]) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// The number of an integer reply.
pub fn int(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("expected an integer, got {}", show(other)),
    }
}

/// The bytes of a bulk string reply.
pub fn bulk(value: &Value) -> &[u8] {
    match value {
        Value::BulkString(bytes) => bytes,
        other => panic!("expected a bulk string, got {}", show(other)),
    }
}
