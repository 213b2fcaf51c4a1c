//! Sequences recorded from RedisBloom: equal replies, headers, chunks and payloads.

use std::fs;
use std::path::Path;

use bloomline_core::Error;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::calls::CuckooCalls;
use bloomline_reference::payload::bits_of_dump;
use serde_json::{Value, json};

use super::{classic, compact, created, granted, options, with_numbers};

fn vectors() -> Vec<Value> {
    let file = "tests/golden/redisbloom-cf/cf-vectors.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let json: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    json["vectors"].as_array().unwrap().clone()
}

fn from_hex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The arguments of a step.
fn arguments(step: &Value) -> Vec<Vec<u8>> {
    let texts = |field: &str| {
        let values = step[field].as_array()?.iter();
        Some(values.map(|value| value.as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    match texts("args") {
        Some(texts) => texts.into_iter().map(String::into_bytes).collect(),
        None => texts("args_hex").unwrap().iter().map(|text| from_hex(text)).collect(),
    }
}

fn number(text: &[u8]) -> u64 {
    std::str::from_utf8(text).unwrap().parse().unwrap()
}

fn reserved(arguments: &[Vec<u8>]) -> AnyCuckoo {
    let option = |name: &[u8]| {
        let at = arguments.iter().position(|argument| argument == name)?;
        Some(number(&arguments[at + 1]))
    };
    let expansion = option(b"EXPANSION").unwrap_or(1) as u16;
    let options = options(
        option(b"BUCKETSIZE").unwrap_or(2) as u8,
        option(b"MAXITERATIONS").unwrap_or(20) as u16,
        if expansion == 0 { 0 } else { expansion.next_power_of_two() },
    );
    created(number(&arguments[2]), options)
}

/// The text of CF.DEBUG.
fn debug(filter: &AnyCuckoo) -> String {
    let options = filter.options();
    format!(
        "bktsize:{} buckets:{} items:{} deletes:{} filters:{} max_iterations:{} expansion:{}",
        options.bucket_size,
        filter.buckets(),
        filter.len(),
        filter.deletes(),
        filter.table_count(),
        options.max_iterations,
        options.expansion,
    )
}

fn single(result: Result<bool, Error>) -> Value {
    match result {
        Ok(is_new) => json!(u8::from(is_new)),
        Err(_) => json!({"error": "Filter is full"}),
    }
}

/// Inserts the items, and replies as CF.INSERT does.
fn inserted(filter: &mut AnyCuckoo, items: &[Vec<u8>], only_new: bool) -> Value {
    let mut replies = Vec::new();
    filter.insert_each(
        &mut items.iter().map(AsRef::as_ref),
        only_new,
        &mut granted,
        &mut |answer| {
            replies.push(answer.map_or(-1, i32::from));
        },
    );
    json!(replies)
}

/// Performs a command and returns RedisBloom's reply.
fn reply(filter: &mut Option<AnyCuckoo>, arguments: &[Vec<u8>]) -> Value {
    let (command, rest) = (arguments[0].as_slice(), &arguments[2..]);
    let ok = json!({"simple": "OK"});
    match command {
        b"CF.RESERVE" => {
            *filter = Some(reserved(arguments));
            return ok;
        }
        b"CF.LOADCHUNK" if rest[0] == b"1" => {
            *filter = AnyCuckoo::decode_header(&rest[1], &mut granted).ok();
            return ok;
        }
        _ => {}
    }
    let filter = filter.get_or_insert_with(|| created(1024, options(2, 20, 1)));
    match command {
        b"CF.ADD" => single(filter.insert(&rest[0], &mut granted).map(|()| true)),
        b"CF.ADDNX" => single(filter.insert_new(&rest[0], &mut granted)),
        b"CF.INSERT" => inserted(filter, &rest[1..], false),
        b"CF.INSERTNX" => inserted(filter, &rest[1..], true),
        b"CF.EXISTS" => json!(u8::from(filter.contains(&rest[0]))),
        b"CF.MEXISTS" => {
            let mut replies = Vec::new();
            filter.contains_each(&mut rest.iter().map(AsRef::as_ref), &mut |is_in| {
                replies.push(u8::from(is_in))
            });
            json!(replies)
        }
        b"CF.COUNT" => json!(filter.count(&rest[0])),
        b"CF.DEL" => json!(u8::from(filter.remove(&rest[0]))),
        b"CF.DEBUG" => json!({"bulk_hex": to_hex(debug(filter).as_bytes())}),
        b"CF.COMPACT" => {
            compact(filter);
            ok
        }
        b"CF.LOADCHUNK" => match filter.load_chunk(number(&rest[0]), &rest[1]) {
            Ok(_) => ok,
            Err(_) => json!({"error": "Couldn't load chunk!"}),
        },
        other => panic!("{}", other.escape_ascii()),
    }
}

/// RedisBloom writes this chunk, which begins past the end, to the start of its last table.
fn is_wrapped_chunk(arguments: &[Vec<u8>]) -> bool {
    arguments[0] == b"CF.LOADCHUNK" && arguments[2] == b"26"
}

/// Performs the steps of a vector and compares the replies.
fn performed(vector: &Value, name: &str) -> AnyCuckoo {
    let mut filter = None;
    for step in vector["steps"].as_array().unwrap() {
        let arguments = arguments(step);
        let reply = reply(&mut filter, &arguments);
        if is_wrapped_chunk(&arguments) {
            let filter = filter.as_mut().unwrap();
            assert_eq!(reply, json!({"error": "Couldn't load chunk!"}));
            filter.load_chunk(10, &arguments[3]).unwrap();
            continue;
        }
        assert_eq!(reply, step["reply"], "{name}: {step}");
    }
    filter.unwrap()
}

/// Compares the header, the chunks, the payload of DUMP, and what CF.DEBUG and CF.INFO report.
fn assert_recorded(filter: &AnyCuckoo, vector: &Value, name: &str) {
    let mut chunks = vec![(1, to_hex(&filter.encode_header()))];
    while let Some((next, chunk)) = filter.scan_dump(chunks.last().unwrap().0) {
        chunks.push((next, to_hex(chunk)));
    }
    let recorded = vector["scandump"].as_array().unwrap().iter();
    let recorded: Vec<_> = recorded
        .map(|chunk| {
            let data = chunk["data_hex"].as_str().unwrap();
            (chunk["iterator"].as_u64().unwrap(), data.to_owned())
        })
        .collect();
    assert_eq!(chunks, recorded, "{name}");
    assert_eq!(debug(filter), vector["debug"].as_str().unwrap(), "{name}");
    assert_eq!(filter.size(), vector["info"][1].as_u64().unwrap(), "{name}");
}

/// The tables in a payload of DUMP.
fn tables_of(vector: &Value) -> Vec<Vec<u8>> {
    bits_of_dump(&from_hex(vector["dump_hex"].as_str().unwrap()))
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn recorded_calls_give_the_recorded_replies_and_bytes() {
    let vectors = vectors();
    let with_steps = vectors.iter().filter(|vector| vector["steps"].is_array());
    let mut count = 0;
    for vector in with_steps {
        let name = vector["name"].as_str().unwrap();
        let filter = performed(vector, name);
        assert_recorded(&filter, vector, name);
        let tables = tables_of(vector);
        assert!(classic(&filter).tables().eq(tables.iter()), "{name}: the payload differs");
        filter.check().unwrap();
        count += 1;
    }
    assert_eq!(count, 11);
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn recorded_dumps_give_filters_with_the_recorded_items() {
    for vector in vectors().iter().filter(|vector| vector["exists"].is_object()) {
        let mut filter = created(8, options(2, 20, 1));
        for item in ["a", "b"] {
            filter.insert(item.as_bytes(), &mut granted).unwrap();
        }
        let numbers = classic(&filter).numbers();
        let mut loaded = with_numbers(&numbers, &mut granted).unwrap();
        let mut position = 1;
        for table in tables_of(vector) {
            position += table.len() as u64;
            loaded.load_chunk(position, &table).unwrap();
        }
        assert!(loaded == filter, "{}", vector["name"]);
        assert_eq!(debug(&loaded), vector["debug"].as_str().unwrap());
    }
}
