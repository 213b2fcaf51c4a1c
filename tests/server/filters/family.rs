//! The families of filters: how items are added and found, what a client can see, and how a filter
//! is changed in all ways that its commands have.

use bloomline_harness::{Client, numbered, show};
use redis::Value;

use super::binary;
use crate::inspect::{digest, without_ages};
use crate::packed::{FORMS, send};
use crate::windowed::header;

/// A family of filters, with commands of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// BF.*
    Bloom,
    /// CF.*
    Cuckoo,
}

impl Family {
    /// The family of the filter under a key.
    pub fn of(client: &mut Client, key: &str) -> Self {
        if client.family(key) == "CF" { Self::Cuckoo } else { Self::Bloom }
    }

    /// What the names of its commands begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Bloom => "BF",
            Self::Cuckoo => "CF",
        }
    }

    /// The family of a command; none of a command of the server.
    pub fn of_command(name: &[u8]) -> Option<Self> {
        match name.get(..3)?.to_ascii_uppercase().as_slice() {
            b"BF." => Some(Self::Bloom),
            b"CF." => Some(Self::Cuckoo),
            _ => None,
        }
    }

    /// A command that both families have, such as `INFO`, with its prefix.
    pub fn command(self, name: &str) -> Vec<u8> {
        format!("{}.{name}", self.prefix()).into_bytes()
    }

    /// Adds items in one call, which has one reply per item.
    pub fn add<A: AsRef<[u8]>>(self, client: &mut Client, key: &str, items: &[A]) -> Value {
        let start: &[&[u8]] = match self {
            Self::Bloom => &[b"BF.MADD", key.as_bytes()],
            Self::Cuckoo => &[b"CF.INSERT", key.as_bytes(), b"ITEMS"],
        };
        let items = items.iter().map(AsRef::as_ref);
        client.run(&start.iter().copied().chain(items).collect::<Vec<_>>())
    }

    /// Tests items in one call.
    pub fn contains<A: AsRef<[u8]>>(self, client: &mut Client, key: &str, items: &[A]) -> Value {
        client.items(&format!("{}.MEXISTS", self.prefix()), key, items)
    }

    /// The answers to some hundred items that may have been added, and to as many others.
    fn answers(self, client: &mut Client, key: &str) -> String {
        let questions =
            [numbered("item", 300), numbered("later", 100), binary(), numbered("absent", 500)];
        let found = questions.map(|items| show(&self.contains(client, key, &items))).concat();
        match self {
            Self::Bloom => found,
            Self::Cuckoo => found + &counts(client, key),
        }
    }
}

/// The numbers of copies of some items.
fn counts(client: &mut Client, key: &str) -> String {
    const ITEMS: [&str; 8] =
        ["item:0", "item:1", "item:77", "item:299", "later:0", "later:120", "absent:3", "\"\""];
    ITEMS.map(|item| client.ask(&format!("CF.COUNT {key} {item}"))).concat()
}

/// Everything that a client can see of a filter, except the age of its generations.
pub fn observe(client: &mut Client, key: &str) -> Vec<String> {
    let family = Family::of(client, key);
    let mut seen = vec![digest(client, key), client.ask(&format!("TYPE {key}"))];
    let header = match family {
        Family::Bloom => {
            seen.push(without_ages(&client.ask(&format!("BF.DEBUG {key}"))));
            for question in ["BF.INFO", "BF.STATS", "BF.CARD"] {
                let reply = client.ask(&format!("{question} {key}"));
                // This one depends on the limits of the server.
                seen.push(reply.split(" +Max scaled").next().unwrap().to_owned());
            }
            header(client, key)
        }
        Family::Cuckoo => {
            for question in ["CF.INFO", "CF.DEBUG"] {
                seen.push(client.ask(&format!("{question} {key}")));
            }
            client.scandump_of("CF", key, 0).1
        }
    };
    // A header may begin with `-`, as an error does.
    seen.push(format!("header {}", header.escape_ascii()));
    seen.push(family.answers(client, key));
    seen
}

/// Adds items, rotates, deletes, merges and compacts, as far as the family can; returns all
/// replies, which depend on no time.
pub fn change(client: &mut Client, key: &str) -> Vec<String> {
    let family = Family::of(client, key);
    let mut replies = match family {
        Family::Bloom => change_bloom(client, key),
        Family::Cuckoo => change_cuckoo(client, key),
    };
    replies.push(client.ask(&format!("{}.INFO {key}", family.prefix())));
    replies.push(family.answers(client, key));
    replies
}

fn change_bloom(client: &mut Client, key: &str) -> Vec<String> {
    let copy = format!("{key}:copy");
    let mut replies = vec![
        show(&client.items("BF.MADD", key, &numbered("later", 150))),
        client.ask(&format!("BF.ROTATE {key}")),
        show(&client.items("BF.MADD", key, &numbered("later", 200))),
        client.ask(&format!("COPY {key} {copy}")),
        show(&client.items("BF.MADD", &copy, &numbered("merged", 5))),
    ];
    for question in
        [format!("BF.MERGE {key} {copy}"), format!("DEL {copy}"), format!("BF.COMPACT {key}")]
    {
        replies.push(client.ask(&question));
    }
    replies
}

fn change_cuckoo(client: &mut Client, key: &str) -> Vec<String> {
    let copy = format!("{key}:copy");
    let mut replies = vec![
        show(&Family::Cuckoo.add(client, key, &numbered("later", 150))),
        show(&client.items("CF.MDEL", key, &numbered("later", 120))),
        show(&client.items(
            "CF.INSERTNX",
            key,
            &[&[b"ITEMS".to_vec()], &numbered("later", 200)[..]].concat(),
        )),
        show(&send(client, "CF.BULKADD", key, FORMS[0], &numbered("packed", 70)[10..], &[])),
        show(&send(client, "CF.BULKADD", key, FORMS[1], &numbered("packed", 5), &["COUNT"])),
        show(&send(client, "CF.BULKDEL", key, FORMS[2], &numbered("packed", 60), &[])),
        show(&send(client, "CF.BULKEXISTS", key, FORMS[1], &numbered("packed", 99), &["COUNT"])),
        client.ask(&format!("COPY {key} {copy}")),
        // In RedisBloom's layout most deletions end with a compaction.
        show(&client.items("CF.MDEL", &copy, &numbered("item", 300))),
    ];
    for question in [
        format!("CF.DEBUG {copy}"),
        format!("CF.COMPACT {copy}"),
        format!("CF.DEBUG {copy}"),
        format!("DEL {copy}"),
        format!("CF.ADD {key} item:1"),
        format!("CF.ADDNX {key} item:1"),
        format!("CF.DEL {key} item:2"),
        format!("CF.DEL {key} absent:2"),
        format!("CF.COMPACT {key}"),
        format!("CF.DEBUG {key}"),
    ] {
        replies.push(client.ask(&question));
    }
    replies
}
