//! Filters of RedisBloom builds with a setting for the seed of their hash: payloads of encoding
//! version 5, longer headers, and BF._HASHCHECK in append-only files.
//!
//! Such payloads are those of version 4 with two more numbers at the end.

use bloomline_harness::{Setup, append_only_file, for_each_server, show};

use super::seen::{assert_all_recorded, restore, sealed_as_old, value_of};
use bloomline_reference::fixture::fixtures;

/// Where the last byte of the type's identifier is in a payload: the encoding version.
const ENCODING_VERSION: usize = 9;

/// What the log says about a seeded hash.
const SEEDED: &str =
    "hash version 1 with a seed (bf-hash-seed), which this release does not compute";

/// The payload in encoding version 5, with these two numbers at its end.
fn as_version_5(dump: &[u8], numbers: [u64; 2]) -> Vec<u8> {
    let (end, value) = value_of(dump).split_last().expect("a value");
    let mut payload = value.to_vec();
    assert_eq!((payload[ENCODING_VERSION], *end), (4, 0));
    payload[ENCODING_VERSION] = 5;
    for number in numbers {
        // An unsigned number in nine bytes.
        payload.extend([2, 0x81]);
        payload.extend(number.to_be_bytes());
    }
    // The end, and ten bytes for version and checksum.
    payload.extend([0; 11]);
    payload
}

/// The 16 bytes in headers and in BF._HASHCHECK.
fn sixteen(numbers: [u64; 2]) -> Vec<u8> {
    numbers.map(u64::to_le_bytes).concat()
}

#[test]
fn version_5_is_read_and_written_as_version_4() {
    Setup::new().on_shared_servers(|mut client, _| {
        let fixtures = fixtures();
        for fixture in &fixtures {
            let payload = as_version_5(&fixture.dump(), [0, 0]);
            assert_eq!(restore(&mut client, &fixture.name, &payload), "+OK", "{}", fixture.name);
        }
        assert_all_recorded(&mut client, &fixtures);
    });
}

#[test]
fn version_5_is_not_passed_on_to_older_redisblooms() {
    for_each_server(|kind| {
        let server = Setup::new().module_args("bf-redisbloom-replicas yes").start(kind);
        let payload = as_version_5(&fixtures()[0].dump(), [0, 0]);
        assert_eq!(restore(&mut server.resp2(), "k", &payload), "-ERR Bad data format");
        let line = "not loaded: RedisBloom without bf-hash-seed cannot read this payload";
        assert!(server.log().contains(line), "{}", server.log());
    });
}

#[test]
fn seeded_hashes_are_refused_with_their_reason() {
    Setup::new().on_each_server(|mut client, server| {
        let fixture = &fixtures()[0];
        for (numbers, reason) in [([1, 0x0123_4567_89ab_cdef], SEEDED), ([0, 7], "hash version 0")]
        {
            let payload = as_version_5(&fixture.dump(), numbers);
            assert_eq!(restore(&mut client, "k", &payload), "-ERR Bad data format");
            assert!(server.log().contains(&format!("not loaded: {reason}")));
        }
        let header = [fixture.header(), sixteen([1, 7])].concat();
        assert_eq!(client.loadchunk("k", 1, &header), "-ERR received bad data");
        let line = format!("BF.LOADCHUNK of 'k' refused: bad header: {SEEDED}");
        assert!(server.log().contains(&line), "{}", server.log());
        assert_eq!(client.ask("DBSIZE"), ":0");
    });
}

#[test]
fn hashcheck_accepts_only_the_known_hash() {
    Setup::new().on_shared_servers(|mut client, _| {
        let mut check =
            |bytes: &[u8]| show(&client.run(&[b"bf._hashcheck".as_slice(), b"k", bytes]));
        assert_eq!(check(&sixteen([0, 0])), "+OK");
        assert_eq!(check(&sixteen([1, 7])), format!("-ERR filter 'k': {SEEDED}"));
        assert!(check(&sixteen([0, 7])).starts_with("-ERR filter 'k': hash version 0"));
        assert_eq!(check(b"short"), "-ERR filter 'k': 5 bytes long");
        assert_eq!(client.ask("DBSIZE"), ":0");
    });
}

#[test]
fn an_append_only_file_is_loaded_up_to_a_seeded_hash() {
    for_each_server(|kind| {
        let fixtures = fixtures();
        let mut file = Vec::new();
        for fixture in &fixtures {
            let (name, payload) = (fixture.name.as_bytes(), sealed_as_old(&fixture.dump()));
            file.extend(append_only_file(&[
                [b"BF._HASHCHECK".as_slice(), name, &sixteen([0, 0])].as_slice(),
                &[b"RESTORE", name, b"0", &payload],
            ]));
        }
        let server = Setup::new().append_file(file).start(kind);
        assert_all_recorded(&mut server.resp2(), &fixtures);
        let seeded = [b"BF._HASHCHECK".as_slice(), b"seeded", &sixteen([1, 7])];
        let refused = Setup::new().append_file(append_only_file(&[seeded])).try_start(kind);
        let log = refused.err().expect("an unknown hash");
        let line = format!("filter 'seeded' of a primary or a file cannot be loaded: {SEEDED}");
        assert!(log.contains(&line), "{log}");
    });
}
