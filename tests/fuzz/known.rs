//! What the replies alone imply about the filters: which items each contains, and how many.

use std::collections::{BTreeMap, BTreeSet};

use redis::Value;

/// What is known of one filter.
#[derive(Clone, Default)]
pub struct Known {
    /// Items that must be found from now on.
    pub inside: BTreeSet<Vec<u8>>,
    /// The expected reply of BF.CARD; `None` if the filter was loaded with a count of its own.
    pub card: Option<u64>,
}

/// The filters of a case.
#[derive(Default)]
pub struct Keys(BTreeMap<Vec<u8>, Known>);

impl Keys {
    /// The filters.
    pub fn iter(&self) -> impl Iterator<Item = (&Vec<u8>, &Known)> {
        self.0.iter()
    }

    /// Updates the model with a command and its reply.
    pub fn learn(&mut self, command: &[Vec<u8>], reply: &Value) {
        let [name, key, rest @ ..] = command else { return };
        let is_ok = matches!(reply, Value::Okay);
        let is_one = *reply == Value::Int(1);
        match String::from_utf8_lossy(name).to_uppercase().as_str() {
            "BF.ADD" if rest.len() == 1 => self.add(key, rest, std::slice::from_ref(reply)),
            "BF.MADD" => self.add_all(key, rest, reply),
            "BF.INSERT" => {
                let items = rest.iter().position(|word| word.eq_ignore_ascii_case(b"ITEMS"));
                self.add_all(key, items.map_or(&[], |at| &rest[at + 1..]), reply);
            }
            "BF.RESERVE" if is_ok => {
                drop(self.0.insert(key.clone(), Known { card: Some(0), ..Known::default() }))
            }
            // Chunks may clear bits, and a header sets counts.
            "BF.LOADCHUNK" | "RESTORE" if is_ok => {
                drop(self.0.insert(key.clone(), Known::default()))
            }
            "DEL" | "UNLINK" => drop(self.0.remove(key)),
            "COPY" if is_one => self.put(&rest[0], self.0.get(key).cloned()),
            "RENAME" if is_ok => {
                let moved = self.0.remove(key);
                self.put(&rest[0], moved);
            }
            _ => {}
        }
    }

    fn put(&mut self, key: &[u8], known: Option<Known>) {
        match known {
            Some(known) => drop(self.0.insert(key.to_vec(), known)),
            None => drop(self.0.remove(key)),
        }
    }

    fn add_all(&mut self, key: &[u8], items: &[Vec<u8>], reply: &Value) {
        if let Value::Array(answers) = reply {
            self.add(key, items, answers);
        }
    }

    fn add(&mut self, key: &[u8], items: &[Vec<u8>], answers: &[Value]) {
        assert!(answers.len() <= items.len(), "{} answers to {} items", answers.len(), items.len());
        for (item, answer) in items.iter().zip(answers) {
            let is_new = match answer {
                Value::Int(n @ (0 | 1)) => *n == 1,
                Value::Boolean(is_new) => *is_new,
                // Refused items may precede the creation of a filter, but only creation makes one.
                Value::ServerError(_) => continue,
                other => panic!("{other:?} as the reply to an item"),
            };
            let fresh = || Known { card: Some(0), ..Known::default() };
            let known = self.0.entry(key.to_vec()).or_insert_with(fresh);
            assert!(
                !(is_new && known.inside.contains(item)),
                "{} was new twice",
                item.escape_ascii()
            );
            known.inside.insert(item.clone());
            known.card = known.card.map(|card| card + u64::from(is_new));
        }
    }
}
