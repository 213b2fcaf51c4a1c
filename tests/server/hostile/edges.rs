//! Forged filters at the edges of what is valid, by every way in: each says what the core says. The
//! core's tests carry what was accepted by every encoding, and let it grow.

use bloomline_core::Error;
use bloomline_core::error::ValkeyError;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::host::{AnyFilter, Demand};
use bloomline_harness::{
    Client, Kind, Setup, append_only_file, for_each_server, matches, module, module_for, seal_dump,
    show,
};
use bloomline_reference::edges::{Forged, LIMIT, all};
use bloomline_reference::payload::Payload;

use crate::cluster::equal::setup;
use crate::inspect::digest;

/// The forged filters for a server, each with what is forged.
///
/// The debug allocator's module checks a whole filter after each command, and a filter of 4,096
/// layers is loaded by as many commands: a minute for each. Other servers have these.
fn forged(kind: &Kind) -> Vec<(&'static str, Forged)> {
    const MOST_HEADER: usize = 64 << 10;
    let is_audited = module_for(kind) != module();
    let is_long = |forged: &Forged| forged.header().len() > MOST_HEADER;
    all().into_iter().filter(|(_, forged)| !is_audited || !is_long(forged)).collect()
}

/// A primary whose clients may make filters up to [`LIMIT`].
fn primary() -> Setup {
    setup().module_args(&format!("bf-max-filter-bytes {LIMIT} cf-max-expansions 65536"))
}

/// What the core says of a header.
fn verdict(forged: &Forged) -> Result<(), Error> {
    let header = forged.header();
    let mut permit = |demand: Demand| demand.filter_bytes <= LIMIT;
    match forged.is_cuckoo() {
        false => AnyFilter::decode_header(&header, &mut permit).map(drop),
        true => AnyCuckoo::decode_header(&header, &mut permit).map(drop),
    }
}

/// What the core's verdict is in a reply.
fn expected(way: &str, command: &[u8], verdict: &Result<(), Error>) -> &'static str {
    match (way, verdict) {
        (_, Ok(())) => "+OK",
        ("RESTORE", _) => "-ERR Bad data format",
        // The payload of a filter far above the limit lacks most of its bits.
        ("BF.LOAD", Err(Error::Refused(_))) => "-ERR <any>",
        (_, Err(Error::Refused(_))) => "-ERR <any> create filter: <any>",
        ("BF.LOAD", Err(Error::Valkey(ValkeyError::ErrorRate(_) | ValkeyError::Tightening(_)))) => {
            "-ERR (0 < error rate range < 1)"
        }
        ("BF.LOAD", _) => "-ERR bloom object decoding failed",
        _ if command.starts_with(b"CF") => "-Couldn't create filter!",
        _ => "-ERR received bad data",
    }
}

fn prefix(forged: &Forged) -> &'static str {
    if forged.is_cuckoo() { "CF" } else { "BF" }
}

/// The commands that load a forged filter, each with the way and the end of the key.
fn commands(forged: &Forged, name: &str) -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let (loadchunk, key) = (format!("{}.LOADCHUNK", prefix(forged)), format!("{name}:chunks"));
    let mut commands =
        vec![("LOADCHUNK", vec![loadchunk.into(), key.into(), b"1".to_vec(), forged.header()])];
    if let Some(payload) = forged.payload() {
        let load = vec![b"BF.LOAD".to_vec(), format!("{name}:loaded").into_bytes(), payload];
        commands.push(("BF.LOAD", load));
    }
    commands
}

/// A payload of DUMP of each type, whose type the forged ones get.
struct Frames([Payload; 3]);

impl Frames {
    fn new(client: &mut Client) -> Self {
        let frames = [
            ("BF.RESERVE frame 0.01 9", "MBbloom--"),
            ("BF.RESERVE frame 0.01 9 LAYOUT VALKEY-BLOOM", "bloomfltr"),
            ("CF.RESERVE frame 9", "MBbloomCF"),
        ];
        Self(frames.map(|(line, name)| {
            client.ok(line);
            assert_eq!(client.ask("TYPE frame"), format!("+{name}"));
            let dump = client.dump("frame");
            client.call("DEL frame");
            Payload::parse(&dump)
        }))
    }

    /// The payload of a forged filter.
    fn with(&self, forged: &Forged) -> Payload {
        let frame = match forged {
            Forged::Bloomline(_) | Forged::RedisBloom(_) => &self.0[0],
            Forged::ValkeyBloom(_) => &self.0[1],
            Forged::Cuckoo(_) | Forged::RedisBloomCuckoo(_) => &self.0[2],
        };
        Payload { fields: forged.fields(), ..frame.clone() }
    }
}

/// Offers all forged filters by every way of a client. The keys of an accepted one are equal.
fn by_clients(kind: &Kind) {
    let server = primary().start(kind);
    let client = &mut server.resp2();
    let frames = Frames::new(client);
    for (number, (what, forged)) in forged(kind).into_iter().enumerate() {
        let (name, verdict) = (format!("edge:{number}"), verdict(&forged));
        let mut digests = Vec::new();
        let payload = seal_dump(&frames.with(&forged).body());
        let key = format!("{name}:restored").into_bytes();
        let restore = vec![b"RESTORE".to_vec(), key, b"0".to_vec(), payload];
        let commands = commands(&forged, &name).into_iter().chain([("RESTORE", restore)]);
        for (way, command) in commands {
            let reply = show(&client.run(&command));
            let what = format!("{}, {what}, by {way}: {reply}, {verdict:?}", forged.layout());
            assert!(matches(expected(way, &command[0], &verdict), &reply), "{what}");
            let key = String::from_utf8(command[1].clone()).unwrap();
            let exists = client.ask(&format!("EXISTS {key}"));
            assert_eq!(exists == ":1", verdict.is_ok(), "{what}");
            if verdict.is_ok() {
                digests.push(digest(client, &key));
            }
        }
        assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{what}: {digests:?}");
    }
}

/// Offers forged filters by an append-only file of commands. Limits of memory do not apply there,
/// so those above them are left out.
fn by_file(kind: &Kind) {
    let (mut file, mut expected) = (Vec::new(), Vec::new());
    for (number, (what, forged)) in forged(kind).into_iter().enumerate() {
        let verdict = verdict(&forged);
        if matches!(verdict, Err(Error::Refused(_))) {
            continue;
        }
        for (_, command) in commands(&forged, &format!("edge:{number}")) {
            let key = String::from_utf8(command[1].clone()).unwrap();
            expected.push((what, key, verdict.is_ok()));
            file.push(command);
        }
    }
    let server = setup().append_file(append_only_file(&file)).start(kind);
    let mut client = server.resp2();
    for (what, key, is_accepted) in expected {
        let exists = client.ask(&format!("EXISTS {key}"));
        assert_eq!(exists == ":1", is_accepted, "{what}: {key} of a file");
    }
}

#[test]
fn forged_filters_are_accepted_by_all_ways_or_none() {
    for_each_server(|kind| {
        by_clients(kind);
        by_file(kind);
    });
}
