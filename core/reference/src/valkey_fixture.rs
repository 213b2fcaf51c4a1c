//! Filters recorded from a running valkey-bloom: how they were filled, what they replied, and
//! their bytes.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::payload::{Field, Payload};

/// One recorded filter.
pub struct Recorded {
    pub name: String,
    json: Value,
    /// The fields of its payload of DUMP.
    pub fields: Vec<Field>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/valkey-bloom")
}

/// The names of the files that end with a suffix, without it.
fn names(suffix: &str) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.unwrap().file_name().to_str()?.strip_suffix(suffix).map(str::to_owned)
    };
    let mut names: Vec<String> = fs::read_dir(folder()).unwrap().filter_map(name).collect();
    names.sort();
    names
}

/// A file in the folder of recorded filters.
pub fn file(name: &str) -> Vec<u8> {
    let path = folder().join(name);
    fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// All recorded filters with their commands, by name.
pub fn recorded() -> Vec<Recorded> {
    let read = |name: String| Recorded {
        json: serde_json::from_slice(&file(&format!("{name}.json"))).unwrap(),
        fields: Payload::parse(&file(&format!("{name}.dump"))).fields,
        name,
    };
    let all: Vec<Recorded> = names(".json").into_iter().map(read).collect();
    assert_eq!(all.len(), 20);
    all
}

/// The names and the bytes of all recorded payloads of BF.LOAD.
pub fn load_payloads() -> Vec<(String, Vec<u8>)> {
    let all: Vec<_> = names(".load")
        .into_iter()
        .map(|name| (name.clone(), file(&format!("{name}.load"))))
        .collect();
    assert_eq!(all.len(), 7);
    all
}

fn numbers(value: &Value) -> impl Iterator<Item = u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap())
}

impl Recorded {
    /// The numbers of the filter before its first layer: layers, expansion, rate, tightening ratio,
    /// and whether the seed is random.
    pub fn head(&self) -> (u64, u32, f64, f64, bool) {
        match self.fields[..5] {
            [
                Field::Unsigned(layers),
                Field::Unsigned(expansion),
                Field::Number(rate),
                Field::Number(tightening),
                Field::Unsigned(flag),
            ] => (layers, expansion as u32, rate, tightening, flag == 1),
            _ => panic!("{}: {:?}", self.name, self.fields),
        }
    }

    /// The capacity of the first layer, and the seed.
    pub fn first_layer(&self) -> (u64, [u8; 32]) {
        let blob = self.fields.iter().find_map(|field| match field {
            Field::String(blob) => Some(blob),
            _ => None,
        });
        match self.fields[5] {
            Field::Unsigned(capacity) => (capacity, blob.unwrap()[13..45].try_into().unwrap()),
            _ => panic!("{}: {:?}", self.name, self.fields),
        }
    }

    /// The items that were added, in order.
    pub fn items(&self) -> Vec<Vec<u8>> {
        let items = &self.json["items"];
        let text = |n: u32| format!("item:{n}").into_bytes();
        let binary = |n: u32| {
            [&n.wrapping_mul(2_654_435_761).to_le_bytes()[..], &[n as u8, 0, 255]].concat()
        };
        let numbers = 0..items["count"].as_u64().unwrap() as u32;
        match items["kind"].as_str().unwrap() {
            "text" => numbers.map(text).collect(),
            "binary" => numbers.map(binary).collect(),
            other => panic!("items of kind {other}"),
        }
    }

    /// The reply for each item: `1`, `0`, or `-` for an error, which is the last reply.
    pub fn replies(&self) -> String {
        let error = self.json["replies_error"][0][0].as_u64();
        let known: Vec<u64> = numbers(&self.json["replies_0_at"]).collect();
        let count = error.unwrap_or(self.json["items"]["count"].as_u64().unwrap());
        let mut replies: String =
            (0..count).map(|at| if known.contains(&at) { '0' } else { '1' }).collect();
        replies.extend(error.map(|_| '-'));
        replies
    }

    /// Some items that were not added, and whether they are reported as present.
    pub fn absent(&self) -> Vec<(Vec<u8>, bool)> {
        let of = |name: &str, answer| {
            let item = move |n: u64| (format!("absent:{n}").into_bytes(), answer);
            numbers(&self.json["absent"][name]).map(item).collect::<Vec<_>>()
        };
        [of("answer_1", true), of("answer_0", false)].concat()
    }

    /// Absent items of 3,000 that are reported as present.
    pub fn false_positives(&self) -> u64 {
        self.json["absent"]["answer_1_of_3000"].as_u64().unwrap()
    }

    /// A number of BF.INFO.
    pub fn info(&self, name: &str) -> Option<u64> {
        self.json["info"][name].as_u64()
    }
}
