//! What the replies alone imply about the filters: which items each contains, and how many.

use std::collections::{BTreeMap, BTreeSet};

use bloomline_core::bloom::bloomline::header::{EXTENDED_VERSION, MAGIC};
use bloomline_harness::show;
use redis::Value;

use crate::family::Family;
use crate::packed::Reply;

/// What is known of one filter.
#[derive(Clone, Default)]
pub struct Known {
    /// Items that must be found from now on.
    pub inside: BTreeSet<Vec<u8>>,
    /// Of a cuckoo filter: how often each of them was added and not deleted.
    copies: BTreeMap<Vec<u8>, u32>,
    /// True if items may be forgotten, so that none must be found.
    pub forgets: bool,
    /// The expected reply of BF.CARD, or the number of items in that of CF.INFO; `None` if the
    /// filter was loaded with a count of its own, or forgets.
    pub card: Option<u64>,
}

impl Known {
    /// What is known of a filter that a call with these options has created.
    fn created(options: &[Vec<u8>]) -> Self {
        const NAMES: [&[u8]; 3] = [b"WINDOW", b"LAST", b"GENERATIONS"];
        let is_one = |word: &Vec<u8>| NAMES.iter().any(|name| word.eq_ignore_ascii_case(name));
        let forgets = options.iter().any(is_one);
        Self { forgets, card: (!forgets).then_some(0), ..Self::default() }
    }
}

impl Known {
    /// The family of a filter that has items.
    fn family(&self) -> Family {
        if self.copies.is_empty() { Family::Bloom } else { Family::Cuckoo }
    }

    /// A copy of an item was added to a cuckoo filter.
    fn add_copy(&mut self, item: &[u8]) {
        self.card = self.card.map(|card| card + 1);
        if !self.forgets {
            *self.copies.entry(item.to_vec()).or_default() += 1;
            self.inside.insert(item.to_vec());
        }
    }

    /// A copy of an item was deleted from a cuckoo filter. If the item was not added, that was an
    /// entry of another item.
    fn delete_copy(&mut self, item: &[u8]) {
        self.card = self.card.map(|card| card - 1);
        match self.copies.get_mut(item) {
            Some(copies @ 2..) => *copies -= 1,
            Some(_) => {
                self.copies.remove(item);
                self.inside.remove(item);
            }
            None => *self = Self { forgets: true, card: self.card, ..Self::default() },
        }
    }
}

/// The items of CF.INSERT, whose options RedisBloom reads by their first letters.
fn inserted(mut words: &[Vec<u8>]) -> &[Vec<u8>] {
    while let Some((name, rest)) = words.split_first() {
        words = match name.first().map(u8::to_ascii_lowercase) {
            Some(b'i') => return rest,
            Some(b'c' | b'e' | b'l' | b's' | b't') => rest.get(1..).unwrap_or_default(),
            _ => rest,
        };
    }
    words
}

/// True if the bytes contain a header of version 2.
fn holds_window(data: &[u8]) -> bool {
    let start = [&MAGIC[..], &EXTENDED_VERSION.to_le_bytes()].concat();
    data.windows(start.len()).any(|bytes| bytes == start)
}

/// What a call does with items, of which each has an answer.
type Change = fn(&mut Keys, &[u8], &[Vec<u8>], &[Value]);

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
            "BF.ADD" if rest.len() == 1 => self.add(key, &[], rest, std::slice::from_ref(reply)),
            "BF.MADD" => self.add_all(key, &[], rest, reply),
            "BF.INSERT" => {
                let items = rest.iter().position(|word| word.eq_ignore_ascii_case(b"ITEMS"));
                let (options, items) = items.map_or((rest, &[][..]), |at| {
                    let (options, items) = rest.split_at(at);
                    (options, &items[1..])
                });
                self.add_all(key, options, items, reply);
            }
            "CF.ADD" | "CF.ADDNX" if rest.len() == 1 => {
                self.store(key, rest, std::slice::from_ref(reply));
            }
            "CF.INSERT" | "CF.INSERTNX" => {
                if let Value::Array(answers) = reply {
                    self.store(key, inserted(rest), answers);
                }
            }
            "CF.DEL" if rest.len() == 1 => self.delete(key, rest, std::slice::from_ref(reply)),
            "CF.MDEL" => {
                if let Value::Array(answers) = reply {
                    self.delete(key, rest, answers);
                }
            }
            "CF.BULKADD" => self.change_packed(key, rest, reply, Self::store),
            "CF.BULKDEL" => self.change_packed(key, rest, reply, Self::delete),
            "CF.BULKEXISTS" => self.test_packed(key, rest, reply, Family::Cuckoo),
            "BF.BULKADD" => self.add_packed(key, rest, reply),
            "BF.BULKEXISTS" => self.test_packed(key, rest, reply, Family::Bloom),
            "CF.RESERVE" if is_ok => drop(self.0.insert(key.clone(), Known::created(&[]))),
            "BF.RESERVE" if is_ok => drop(self.0.insert(key.clone(), Known::created(rest))),
            // Chunks may clear bits, and a header sets counts.
            "BF.LOADCHUNK" | "CF.LOADCHUNK" | "RESTORE" if is_ok => {
                let before = self.0.get(key).is_some_and(|known| known.forgets);
                let forgets = before || rest.iter().any(|data| holds_window(data));
                drop(self.0.insert(key.clone(), Known { forgets, ..Known::default() }))
            }
            "BF.MERGE" if is_ok => self.merge(key, rest),
            "DEL" | "SET" => drop(self.0.remove(key)),
            "COPY" if is_one => self.put(&rest[0], self.0.get(key).cloned()),
            "RENAME" if is_ok => {
                let moved = self.0.remove(key);
                self.put(&rest[0], moved);
            }
            _ => {}
        }
    }

    /// Items that were added to a cuckoo filter, with an answer for each.
    fn store(&mut self, key: &[u8], items: &[Vec<u8>], answers: &[Value]) {
        for (item, is_stored) in answered(items, answers) {
            let known = self.0.entry(key.to_vec()).or_insert_with(|| Known::created(&[]));
            if is_stored {
                known.add_copy(item);
            }
        }
    }

    /// Items that were deleted from a cuckoo filter, with an answer for each.
    fn delete(&mut self, key: &[u8], items: &[Vec<u8>], answers: &[Value]) {
        for (item, is_deleted) in answered(items, answers) {
            let known = self.0.get_mut(key).expect("only a filter deletes items");
            let is_inside = known.inside.contains(item);
            assert!(is_deleted || !is_inside, "{} was not deleted", item.escape_ascii());
            if is_deleted {
                known.delete_copy(item);
            }
        }
    }

    /// Packed items that were added to a cuckoo filter or deleted from it, with an answer for each
    /// or the number of those that were.
    fn change_packed(&mut self, key: &[u8], arguments: &[Vec<u8>], reply: &Value, change: Change) {
        let Some((items, reply)) = Reply::read(arguments, reply) else {
            // Some items were added, and nobody knows which.
            if show(reply).ends_with(" were added") {
                self.put(key, Some(Known { forgets: true, ..Known::default() }));
            }
            return;
        };
        assert_eq!(reply.processed, items.len());
        match &reply.answers {
            Some(answers) => {
                let answers: Vec<_> = answers.iter().map(|&bit| Value::Int(bit.into())).collect();
                change(self, key, &items, &answers);
            }
            None if reply.ones == items.len() => {
                change(self, key, &items, &vec![Value::Int(1); items.len()]);
            }
            // Nobody knows which.
            None => {
                if let Some(known) = self.0.get_mut(key) {
                    *known = Known { forgets: true, ..Known::default() };
                }
            }
        }
    }

    /// The destination has the items of all. Their number is estimated.
    fn merge(&mut self, destination: &[u8], sources: &[Vec<u8>]) {
        let mut union = Known::default();
        for key in sources.iter().map(Vec::as_slice).chain([destination]) {
            if let Some(known) = self.0.get(key) {
                union.forgets |= known.forgets;
                union.inside.extend(known.inside.iter().cloned());
            }
        }
        self.put(destination, Some(union));
    }

    fn put(&mut self, key: &[u8], known: Option<Known>) {
        match known {
            Some(known) => drop(self.0.insert(key.to_vec(), known)),
            None => drop(self.0.remove(key)),
        }
    }

    /// Items of a call that creates a missing filter with these options.
    fn add_all(&mut self, key: &[u8], options: &[Vec<u8>], items: &[Vec<u8>], reply: &Value) {
        if let Value::Array(answers) = reply {
            self.add(key, options, items, answers);
        }
    }

    /// Packed items, with an answer for each or the number of new ones.
    fn add_packed(&mut self, key: &[u8], arguments: &[Vec<u8>], reply: &Value) {
        let Some((items, reply)) = Reply::read(arguments, reply) else { return };
        if let Some(answers) = &reply.answers {
            let answers: Vec<_> = answers.iter().map(|&bit| Value::Int(bit.into())).collect();
            return self.add(key, &[], &items, &answers);
        }
        if reply.processed == 0 {
            return;
        }
        let known = self.0.entry(key.to_vec()).or_insert_with(|| Known::created(&[]));
        if known.forgets {
            return;
        }
        let before = known.inside.len();
        known.inside.extend(items[..reply.processed].iter().cloned());
        let most = known.inside.len() - before;
        assert!(reply.ones <= most, "{} were new, but at most {most} can be", reply.ones);
        known.card = known.card.map(|card| card + reply.ones as u64);
    }

    /// Items that are inside must be found, if the filter is of the family of the command.
    fn test_packed(&self, key: &[u8], arguments: &[Vec<u8>], reply: &Value, family: Family) {
        let Some((items, reply)) = Reply::read(arguments, reply) else { return };
        assert_eq!(reply.processed, items.len());
        let known = self.0.get(key).filter(|it| !it.forgets && it.family() == family);
        let is_inside = |item: &Vec<u8>| known.is_some_and(|known| known.inside.contains(item));
        let least = items.iter().filter(|item| is_inside(item)).count();
        assert!(least <= reply.ones, "{least} are inside, {} found", reply.ones);
        for (item, found) in items.iter().zip(reply.answers.iter().flatten()) {
            assert!(*found || !is_inside(item), "{} was not found", item.escape_ascii());
        }
    }

    fn add(&mut self, key: &[u8], options: &[Vec<u8>], items: &[Vec<u8>], answers: &[Value]) {
        assert!(answers.len() <= items.len(), "{} answers to {} items", answers.len(), items.len());
        for (item, answer) in items.iter().zip(answers) {
            let is_new = match answer {
                Value::Int(n @ (0 | 1)) => *n == 1,
                Value::Boolean(is_new) => *is_new,
                // Refused items may precede the creation of a filter, but only creation makes one.
                Value::ServerError(_) => continue,
                other => panic!("{other:?} as the reply to an item"),
            };
            let known = self.0.entry(key.to_vec()).or_insert_with(|| Known::created(options));
            if known.forgets {
                continue;
            }
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

/// The items of a call of a cuckoo filter, each with whether it was added or deleted. There is none
/// if the one answer is an error.
fn answered<'c>(
    items: &'c [Vec<u8>],
    answers: &'c [Value],
) -> impl Iterator<Item = (&'c Vec<u8>, bool)> {
    let is_error = matches!(answers, [Value::ServerError(_)]);
    assert!(is_error || answers.len() == items.len(), "{answers:?} to {} items", items.len());
    let answers = if is_error { &[] } else { answers };
    items.iter().zip(answers).map(|(item, answer)| match answer {
        Value::Int(number @ -1..=1) => (item, *number == 1),
        Value::Boolean(is_done) => (item, *is_done),
        other => panic!("{other:?} as the reply to an item"),
    })
}
