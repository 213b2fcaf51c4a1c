//! Forged filters at the edges of what is valid, by every way in: all accept them, or none. What
//! was accepted is the same filter in replicas and after each file, and grows as the same filter.

use std::collections::BTreeMap;

use bloomline_core::Error;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::host::{AnyFilter, Demand};
use bloomline_harness::{
    Client, Kind, Server, Setup, Stop, append_only_file, for_each_server, matches, module,
    module_for, numbered, seal_dump, show,
};
use bloomline_reference::edges::{Forged, LIMIT, all};
use bloomline_reference::payload::Payload;

use crate::cluster::equal::{OTHER_SETTINGS, catch_up, setup};
use crate::filters::Family;
use crate::inspect::digest;

/// The keys of one forged filter, which are equal.
type Group = Vec<String>;

/// Filters offered and accepted, by layout and way.
type Counts = BTreeMap<(&'static str, &'static str), [u64; 2]>;

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
    setup()
        .append_only()
        .module_args(&format!("bf-max-filter-bytes {LIMIT} cf-max-expansions 65536"))
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

/// Offers all forged filters by every way of a client. Returns the keys of those that were
/// accepted.
fn offer_all(kind: &Kind, client: &mut Client, counts: &mut Counts) -> Vec<Group> {
    let frames = Frames::new(client);
    let mut groups = Vec::new();
    for (number, (what, forged)) in forged(kind).into_iter().enumerate() {
        let (name, verdict) = (format!("edge:{number}"), verdict(&forged));
        let mut group = Vec::new();
        let payload = seal_dump(&frames.with(&forged).body());
        let key = format!("{name}:restored").into_bytes();
        let restore = vec![b"RESTORE".to_vec(), key, b"0".to_vec(), payload];
        let commands = commands(&forged, &name).into_iter().chain([("RESTORE", restore)]);
        for (way, command) in commands {
            let reply = show(&client.run(&command));
            let what = format!("{}, {what}, by {way}: {reply}, {verdict:?}", forged.layout());
            let [offered, accepted] = counts.entry((forged.layout(), way)).or_default();
            *offered += 1;
            *accepted += u64::from(reply == "+OK");
            assert!(matches(expected(way, &command[0], &verdict), &reply), "{what}");
            let key = String::from_utf8(command[1].clone()).unwrap();
            let exists = client.ask(&format!("EXISTS {key}"));
            assert_eq!(exists == ":1", verdict.is_ok(), "{what}");
            group.push(key);
        }
        if verdict.is_ok() {
            group.extend(carried(client, &name, prefix(&forged)));
            groups.push(group);
        }
    }
    groups
}

/// Copies of a filter that was accepted, by the ways that read it.
fn carried(client: &mut Client, name: &str, family: &str) -> Group {
    let from = format!("{name}:chunks");
    let [copied, dumped, dumped_by_chunks] =
        ["copied", "dumped", "dumped:chunks"].map(|way| format!("{name}:{way}"));
    assert_eq!(client.ask(&format!("COPY {from} {copied}")), ":1");
    let dump = client.dump(&from);
    assert_eq!(client.restore(&dumped, &dump), "+OK", "{from}");
    let chunks = client.chunks(&from);
    client.load_chunks(family, &dumped_by_chunks, &chunks);
    vec![copied, dumped, dumped_by_chunks]
}

/// Asserts that the keys of each filter are equal, and returns their digests.
fn digests(client: &mut Client, groups: &[Group], when: &str) -> Vec<String> {
    let of_group = |group: &Group| {
        let digests: Vec<_> = group.iter().map(|key| digest(client, key)).collect();
        assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{when}: {group:?} differ");
        digests[0].clone()
    };
    groups.iter().map(of_group).collect()
}

/// Adds items to all keys. Those that are full grow, or say why they do not.
fn grow(client: &mut Client, groups: &[Group], items: &str) {
    for group in groups {
        let family = Family::of(client, &group[0]);
        let items = numbered(items, 30);
        let replies: Vec<_> =
            group.iter().map(|key| show(&family.add(client, key, &items))).collect();
        assert!(replies.windows(2).all(|pair| pair[0] == pair[1]), "{group:?}: {replies:?}");
    }
}

/// Asserts that a server holds the filters of the digests.
fn assert_held(client: &mut Client, groups: &[Group], expected: &[String], after: &str) {
    let found = digests(client, groups, after);
    for ((group, found), expected) in groups.iter().zip(&found).zip(expected) {
        assert_eq!(found, expected, "{group:?} after {after}");
    }
}

fn run(kind: &Kind, counts: &mut Counts) {
    let mut server = primary().start(kind);
    let replica = || setup().module_args(OTHER_SETTINGS).follows(&server).start(kind);
    let (mut client, early) = (server.resp2(), replica());
    catch_up(&mut client, &mut early.resp2());
    let groups = offer_all(kind, &mut client, counts);
    let late = replica();
    for round in ["offered", "grown", "grown again"] {
        if round != "offered" {
            grow(&mut client, &groups, round);
        }
        let expected = digests(&mut client, &groups, round);
        for (way, replica) in [("stream", &early), ("full synchronisation", &late)] {
            let mut other = replica.resp2();
            catch_up(&mut client, &mut other);
            assert_held(&mut other, &groups, &expected, &format!("{way}, {round}"));
        }
    }
    drop((early, late));
    survive(&mut server, &groups);
    by_file(kind, counts);
}

/// Restarts a server from each kind of file; the filters are the same, and grow after each.
fn survive(server: &mut Server, groups: &[Group]) {
    for file in ["never rewritten", "rewritten as commands", "rewritten as RDB", "RDB"] {
        let mut client = server.resp2();
        let expected = digests(&mut client, groups, file);
        let stop = match file {
            "rewritten as commands" => {
                client.rewrite_append_only_file();
                Stop::NoSave
            }
            "rewritten as RDB" => {
                client.ok("CONFIG SET aof-use-rdb-preamble yes");
                client.rewrite_append_only_file();
                Stop::NoSave
            }
            "RDB" => {
                server.edit_config("appendonly yes", "appendonly no");
                Stop::Save
            }
            _ => Stop::NoSave,
        };
        server.restart(stop);
        let mut client = server.resp2();
        assert_held(&mut client, groups, &expected, file);
        grow(&mut client, groups, file);
        digests(&mut client, groups, file);
    }
}

/// Offers forged filters by an append-only file of commands. Limits of memory do not apply there,
/// so those above them are left out.
fn by_file(kind: &Kind, counts: &mut Counts) {
    let (mut file, mut expected) = (Vec::new(), Vec::new());
    for (number, (what, forged)) in forged(kind).into_iter().enumerate() {
        let verdict = verdict(&forged);
        if matches!(verdict, Err(Error::Refused(_))) {
            continue;
        }
        for (_, command) in commands(&forged, &format!("edge:{number}")) {
            let [offered, accepted] = counts.entry((forged.layout(), "file")).or_default();
            *offered += 1;
            *accepted += u64::from(verdict.is_ok());
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
        let mut counts = Counts::new();
        run(kind, &mut counts);
        println!("{}: offered and accepted: {counts:?}", kind.name);
    });
}
