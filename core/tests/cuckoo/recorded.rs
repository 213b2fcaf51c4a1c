//! Sequences recorded from RedisBloom: equal replies, headers, chunks and payloads.

use bloomline_core::Error;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::calls::CuckooCalls;
use bloomline_reference::fixture::{CuckooFixture, cuckoo_fixtures};
use bloomline_reference::payload::{FieldReader, OLD_OPTIONS, Payload, bits_of_dump, cuckoo_of};
use serde_json::{Value, json};

use super::{classic, compact, created, granted, options};

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

/// Performs the recorded steps and compares the replies.
fn performed(fixture: &CuckooFixture) -> AnyCuckoo {
    let mut filter = None;
    for (arguments, recorded) in fixture.steps() {
        let reply = reply(&mut filter, &arguments);
        if is_wrapped_chunk(&arguments) {
            let filter = filter.as_mut().unwrap();
            assert_eq!(reply, json!({"error": "Couldn't load chunk!"}));
            filter.load_chunk(10, &arguments[3]).unwrap();
            continue;
        }
        assert_eq!(reply, recorded, "{}: {arguments:?}", fixture.name);
    }
    filter.unwrap()
}

/// Compares the header, the chunks, the payload of DUMP, and what CF.DEBUG and CF.INFO report.
fn assert_recorded(filter: &AnyCuckoo, fixture: &CuckooFixture) {
    let name = &fixture.name;
    let mut chunks = vec![(1, filter.encode_header())];
    while let Some((next, chunk)) = filter.scan_dump(chunks.last().unwrap().0 as u64) {
        chunks.push((next as i64, chunk.to_vec()));
    }
    assert!(chunks == fixture.chunks(), "{name}: other chunks");
    assert_eq!(debug(filter), fixture.debug(), "{name}");
    assert_eq!(Some(filter.size()), fixture.size(), "{name}");
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn recorded_calls_give_the_recorded_replies_and_bytes() {
    let mut count = 0;
    for fixture in cuckoo_fixtures().iter().filter(|fixture| !fixture.steps().is_empty()) {
        let filter = performed(fixture);
        assert_recorded(&filter, fixture);
        let (name, tables) = (&fixture.name, bits_of_dump(&fixture.dump()));
        assert!(classic(&filter).tables().eq(tables.iter()), "{name}: the payload differs");
        let value = cuckoo_of(&Payload::parse(&fixture.dump()).fields, &mut granted);
        assert!(value.as_ref() == Ok(&filter), "{name}: the payload is another filter");
        filter.check().unwrap();
        count += 1;
    }
    assert_eq!(count, 11);
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn recorded_payloads_of_older_versions_are_read() {
    let mut count = 0;
    for fixture in cuckoo_fixtures() {
        let Some(old) = fixture.old_payload() else { continue };
        let mut filter = created(8, options(2, 20, 1));
        for item in ["a", "b"] {
            filter.insert(item.as_bytes(), &mut granted).unwrap();
        }
        for dump in [old, fixture.dump()] {
            let payload = Payload::parse(&dump);
            // The version is in the last bits of the type's id.
            let version = (payload.id & 0x3ff) as u32;
            let mut reader = FieldReader(&payload.fields);
            let loaded = AnyCuckoo::decode_fields(&mut reader, version, OLD_OPTIONS, &mut granted);
            assert!(loaded.as_ref() == Ok(&filter) && reader.0.is_empty(), "{}", fixture.name);
            assert_eq!(debug(&filter), fixture.debug());
        }
        count += 1;
    }
    assert_eq!(count, 2);
}
