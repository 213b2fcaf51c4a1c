//! Filters recorded from a running RedisBloom: how they were created, what they replied, and their
//! bytes.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// One recorded filter.
pub struct Fixture {
    pub name: String,
    json: Value,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/redisbloom")
}

fn read(file: &str) -> Vec<u8> {
    let path = folder().join(file);
    fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// All fixtures, by name.
pub fn fixtures() -> Vec<Fixture> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().to_str()?.strip_suffix(".json").map(str::to_owned)
        })
        .filter(|name| name != "absent_items")
        .collect();
    names.sort();
    assert_eq!(names.len(), 11, "{names:?}");
    let parse = |name: String| Fixture {
        json: serde_json::from_slice(&read(&format!("{name}.json"))).unwrap(),
        name,
    };
    names.into_iter().map(parse).collect()
}

/// The items that were never inserted, in the order of the recorded answers.
pub fn absent_items() -> Vec<Vec<u8>> {
    let json: Value = serde_json::from_slice(&read("absent_items.json")).unwrap();
    strings(&json["items"]).into_iter().map(String::into_bytes).collect()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

impl Fixture {
    fn text(&self, field: &str) -> Option<String> {
        self.json[field].as_str().map(str::to_owned)
    }

    /// The arguments of the command that created the filter; `None` if its first items or a header
    /// created it.
    pub fn create(&self) -> Option<Vec<String>> {
        self.json.get("create").map(strings)
    }

    /// The header that an old filter was created from.
    pub fn created_from_header(&self) -> Option<Vec<u8>> {
        self.text("create_loadchunk_header_hex").map(|hex| from_hex(&hex))
    }

    /// The items that were inserted, in calls of a hundred.
    pub fn items(&self) -> Vec<Vec<u8>> {
        let prefix = self.text("prefix").unwrap();
        (0..self.json["n"].as_u64().unwrap()).map(|i| format!("{prefix}{i}").into_bytes()).collect()
    }

    /// RedisBloom's reply for each inserted item: `1` if it was new.
    pub fn replies(&self) -> String {
        self.text("madd_replies").unwrap()
    }

    /// RedisBloom's reply for each absent item: `1` if it was reported as present.
    pub fn absent_answers(&self) -> String {
        self.text("absent_answers").unwrap()
    }

    /// The lines of BF.DEBUG's reply.
    pub fn debug(&self) -> Vec<String> {
        strings(&self.json["debug"])
    }

    /// The values of BF.INFO in its order. The expansion is `None` if the filter does not grow.
    pub fn info(&self) -> [Option<i64>; 5] {
        ["Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"]
            .map(|name| self.json["info"][name].as_i64())
    }

    /// The header that BF.SCANDUMP returned.
    pub fn header(&self) -> Vec<u8> {
        from_hex(&self.text("scandump_header_hex").unwrap())
    }

    /// The payload of DUMP.
    pub fn dump(&self) -> Vec<u8> {
        read(&format!("{}.dump", self.name))
    }

    /// The replies of BF.SCANDUMP in order, header first; `None` if they were not recorded as
    /// files.
    pub fn chunks(&self) -> Option<Vec<(i64, Vec<u8>)>> {
        let chunks = self.json.get("scandump")?.as_array()?;
        chunks.iter().map(|chunk| Some((chunk[0].as_i64()?, read(chunk[1].as_str()?)))).collect()
    }

    /// For each older encoding version: the payload, RedisBloom's reply to RESTORE, and the lines
    /// of BF.DEBUG afterwards.
    #[allow(clippy::type_complexity)]
    pub fn reencoded(&self) -> Vec<(u64, Vec<u8>, String, Option<Vec<String>>)> {
        let Some(cases) = self.json.get("reencoded").and_then(Value::as_object) else {
            return Vec::new();
        };
        let case = |(version, case): (&String, &Value)| {
            // Without a file, the payload differs from `dump` only in the version at the end of the
            // type's id.
            let dump = case["file"].as_str().map_or_else(
                || {
                    let mut dump = self.dump();
                    dump[9] = dump[9] & !7 | version.parse::<u8>().unwrap();
                    dump
                },
                read,
            );
            let reply = case["reply"].as_str().unwrap().to_owned();
            (version.parse().unwrap(), dump, reply, case.get("debug").map(strings))
        };
        cases.iter().map(case).collect()
    }
}

/// One recorded cuckoo filter.
pub struct CuckooFixture {
    pub name: String,
    json: Value,
}

/// All recorded cuckoo filters.
pub fn cuckoo_fixtures() -> Vec<CuckooFixture> {
    let file = read("../redisbloom-cf/cf-vectors.json");
    let json: Value = serde_json::from_slice(&file).unwrap();
    let vectors = json["vectors"].as_array().unwrap().iter();
    vectors
        .map(|json| CuckooFixture {
            name: json["name"].as_str().unwrap().to_owned(),
            json: json.clone(),
        })
        .collect()
}

impl CuckooFixture {
    /// The arguments of each command that made the filter, and the reply; none if it was restored.
    pub fn steps(&self) -> Vec<(Vec<Vec<u8>>, Value)> {
        let arguments = |step: &Value| match &step["args_hex"] {
            Value::Null => strings(&step["args"]).into_iter().map(String::into_bytes).collect(),
            words => strings(words).iter().map(|word| from_hex(word)).collect(),
        };
        let steps = self.json["steps"].as_array().map_or(&[][..], Vec::as_slice);
        steps.iter().map(|step| (arguments(step), step["reply"].clone())).collect()
    }

    /// The line of CF.DEBUG's reply.
    pub fn debug(&self) -> &str {
        self.json["debug"].as_str().unwrap()
    }

    /// The size in CF.INFO.
    pub fn size(&self) -> Option<u64> {
        self.json["info"][1].as_u64()
    }

    /// The payload of DUMP.
    pub fn dump(&self) -> Vec<u8> {
        from_hex(self.json["dump_hex"].as_str().unwrap())
    }

    /// The payload of an older encoding version that was restored.
    pub fn old_payload(&self) -> Option<Vec<u8>> {
        self.json["restore_payload_hex"].as_str().map(from_hex)
    }

    /// The replies of CF.SCANDUMP in order, header first; none if they were not recorded.
    pub fn chunks(&self) -> Vec<(i64, Vec<u8>)> {
        let chunks = self.json["scandump"].as_array().map_or(&[][..], Vec::as_slice);
        let chunk = |chunk: &Value| {
            (chunk["iterator"].as_i64().unwrap(), from_hex(chunk["data_hex"].as_str().unwrap()))
        };
        chunks.iter().map(chunk).collect()
    }
}
