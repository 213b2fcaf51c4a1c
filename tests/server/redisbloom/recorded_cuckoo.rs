//! Recorded cuckoo filters: the same commands make the same filters, which are dumped to the same
//! bytes, and are restored and loaded from them.

use std::fs;

use bloomline_harness::{Client, repository, show};

use crate::filters::classic_cuckoo as classic;
use serde_json::Value as Json;

use super::seen::{dumped, restore, value_of};

/// The recorded vectors, each a filter under the key `k`.
fn vectors() -> Vec<Json> {
    let path = repository().join("core/tests/golden/redisbloom-cf/cf-vectors.json");
    let mut recorded: Json = serde_json::from_slice(&fs::read(path).expect("the file")).unwrap();
    let Json::Array(vectors) = recorded["vectors"].take() else { panic!("no list of vectors") };
    vectors
}

fn from_hex(text: &Json) -> Vec<u8> {
    let text = text.as_str().expect("hexadecimal digits");
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

/// The arguments of a step.
fn arguments(step: &Json) -> Vec<Vec<u8>> {
    match &step["args_hex"] {
        Json::Null => list(&step["args"])
            .iter()
            .map(|word| word.as_str().expect("a word").as_bytes().to_vec())
            .collect(),
        words => list(words).iter().map(from_hex).collect(),
    }
}

/// A recorded reply in the notation of [`show`].
fn shown(reply: &Json) -> String {
    match reply {
        Json::Array(replies) => {
            format!("*[{}]", replies.iter().map(shown).collect::<Vec<_>>().join(" "))
        }
        Json::Object(fields) => match fields.iter().next() {
            Some((kind, Json::String(text))) if kind == "simple" => format!("+{text}"),
            Some((kind, Json::String(text))) if kind == "error" => format!("-{text}"),
            Some((kind, bytes)) if kind == "bulk_hex" => {
                let bytes = from_hex(bytes);
                format!("${} {}", bytes.len(), bytes.escape_ascii())
            }
            other => panic!("a reply {other:?}"),
        },
        number => format!(":{number}"),
    }
}

/// The reply to CF.INFO, whose names are simple strings.
fn info(vector: &Json) -> String {
    let fields = list(&vector["info"]).iter().map(|field| match field {
        Json::String(name) => format!("+{name}"),
        number => format!(":{number}"),
    });
    format!("*[{}]", fields.collect::<Vec<_>>().join(" "))
}

/// Asserts that the key holds the filter: its numbers, answers, chunks and bytes.
fn assert_recorded(client: &mut Client, key: &str, vector: &Json) {
    let name = &vector["name"];
    assert_eq!(client.ask(&format!("TYPE {key}")), "+MBbloomCF", "{name}");
    let debug = vector["debug"].as_str().expect("a line");
    let expected = format!("${} {debug}", debug.len());
    assert_eq!(client.ask(&format!("CF.DEBUG {key}")), expected, "{name}");
    if vector["info"].is_array() {
        assert_eq!(client.ask(&format!("CF.INFO {key}")), info(vector), "{name}");
    }
    for (item, found) in vector["exists"].as_object().into_iter().flatten() {
        assert_eq!(client.ask(&format!("CF.EXISTS {key} {item}")), format!(":{found}"), "{name}");
    }
    if vector["scandump"].is_array() {
        assert!(client.chunks(key) == chunks(vector), "{name}: other chunks");
    }
    assert!(dumped(client, key) == value_of(&from_hex(&vector["dump_hex"])), "{name}: other bytes");
}

fn chunks(vector: &Json) -> Vec<(i64, Vec<u8>)> {
    let iterator = |chunk: &Json| chunk["iterator"].as_i64().expect("a number");
    let chunks = list(&vector["scandump"]).iter();
    chunks.map(|chunk| (iterator(chunk), from_hex(&chunk["data_hex"]))).collect()
}

#[test]
fn recorded_steps_give_the_recorded_cuckoo_filters() {
    classic().on_shared_servers(|mut client, _| {
        let mut seen = 0;
        for vector in vectors().iter().filter(|vector| vector["steps"].is_array()) {
            let mut is_same = true;
            for step in list(&vector["steps"]) {
                let reply = show(&client.run(&arguments(step)));
                // Past the last table RedisBloom writes into it.
                let is_wrapped = reply == "-Couldn't load chunk!" && shown(&step["reply"]) == "+OK";
                assert!(
                    is_wrapped || reply == shown(&step["reply"]),
                    "{}: {step}: {reply}",
                    vector["name"]
                );
                is_same &= !is_wrapped;
            }
            if is_same {
                assert_recorded(&mut client, "k", vector);
                seen += 1;
            }
            client.ok("FLUSHALL");
        }
        assert_eq!(seen, 10);
    });
}

#[test]
fn recorded_cuckoo_filters_are_restored_and_loaded() {
    classic().on_shared_servers(|mut client, _| {
        let (mut old, mut loaded) = (0, 0);
        for vector in &vectors() {
            let dump = from_hex(&vector["dump_hex"]);
            assert_eq!(restore(&mut client, "restored", &dump), "+OK", "{}", vector["name"]);
            assert_recorded(&mut client, "restored", vector);
            if vector["restore_payload_hex"].is_string() {
                let payload = from_hex(&vector["restore_payload_hex"]);
                assert_eq!(restore(&mut client, "old", &payload), "+OK", "{}", vector["name"]);
                assert_recorded(&mut client, "old", vector);
                old += 1;
            }
            let chunks = chunks(vector);
            if !chunks.is_empty() {
                client.load_chunks("CF", "loaded", &chunks);
                assert_recorded(&mut client, "loaded", vector);
                loaded += 1;
            }
            client.ok("FLUSHALL");
        }
        assert_eq!((old, loaded), (2, 11));
    });
}
