//! The calls of an operation, and what the server must reply: what the same filter replies in this
//! process.

use bloomline_core::host::{Demand, MAX_ERROR_RATE, Window};
use bloomline_harness::arguments;
use bloomline_reference::life::choices::Choices;
use bloomline_reference::life::filter::{Filter, Outcome};
use bloomline_reference::life::kinds::{Numbers, Shape};
use bloomline_reference::life::steps::item;

use crate::calls::words::Words;
use crate::packed::{FORMS, Form};

/// Options of headers that BF.RESERVE writes: growing filters, and fixed ones.
const RESERVED: [u32; 2] = [5, 13];

/// The call that creates a filter. `None` if only chunks can.
pub fn reserve(numbers: &Numbers, key: &str) -> Option<String> {
    let Numbers { capacity, error_rate, expansion, seed, options, cuckoo, .. } = *numbers;
    if numbers.is_cuckoo() {
        let bucket = cuckoo.bucket_size;
        let is_taken = error_rate <= MAX_ERROR_RATE && capacity >= 2 * u64::from(bucket);
        let own = match numbers.kind.shape {
            Shape::Cuckoo => format!("ERROR {error_rate} SEED {seed}"),
            _ => "LAYOUT REDISBLOOM".to_owned(),
        };
        let most = cuckoo.max_iterations;
        let numbers = format!("BUCKETSIZE {bucket} MAXITERATIONS {most} EXPANSION {expansion}");
        return is_taken.then(|| format!("CF.RESERVE {key} {capacity} {numbers} {own}"));
    }
    let is_last = numbers.kind.shape == Shape::Last;
    let growth = match numbers.is_fixed() {
        _ if is_last => String::new(),
        true => "NONSCALING".to_owned(),
        false => format!("EXPANSION {expansion}"),
    };
    let own = match (numbers.kind.shape, numbers.window) {
        // The seed has 32 bytes, which a line cannot have.
        (Shape::ValkeyBloom(..), _) => return None,
        (Shape::ClassicBloom(_), _) if !RESERVED.contains(&options) => return None,
        // One that remembers a number of items has the expansion of the settings.
        (Shape::Last, _) if expansion != 2 => return None,
        (Shape::ClassicBloom(_), _) => "LAYOUT REDISBLOOM".to_owned(),
        (_, None) => format!("SEED {seed}"),
        (_, Some(spec)) => {
            let window = match spec.window {
                Window::Time { millis } => format!("WINDOW {}", millis / 1000),
                Window::Last => "LAST".to_owned(),
                Window::Manual => String::new(),
            };
            let refreshing = if spec.refreshes { "" } else { "NOREFRESH" };
            format!("SEED {seed} GENERATIONS {} {window} {refreshing}", spec.generations)
        }
    };
    Some(format!("BF.RESERVE {key} {error_rate} {capacity} {growth} {own}"))
}

/// How a call has its items.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
    /// One argument of the command for one item.
    One,
    /// One argument per item.
    Many,
    /// BF.INSERT with NOCREATE; the same as `Many` for cuckoo filters.
    Insert,
    /// One argument for all items.
    Packed { form: Form, is_counted: bool },
}

impl Manner {
    /// One that the items allow. `FIXED` keeps the items of one length only.
    pub fn choose(choices: &mut Choices, items: &mut Vec<Vec<u8>>) -> Self {
        match choices.below(8) {
            0..=2 if items.len() == 1 => Self::One,
            0..=3 => Self::Many,
            4 => Self::Insert,
            _ => {
                let form = choices.of(&FORMS);
                let is_line = |item: &Vec<u8>| {
                    !item.is_empty() && !item.contains(&b'\n') && !item.ends_with(b"\r")
                };
                match form {
                    Form::Fixed => {
                        let width = items[0].len().max(1);
                        items.retain(|item| item.len() == width);
                    }
                    Form::Prefixed => items.retain(|item| !item.is_empty()),
                    Form::Lines => items.retain(is_line),
                }
                if items.is_empty() {
                    items.push(item(2));
                }
                Self::Packed { form, is_counted: choices.one_in(2) }
            }
        }
    }

    /// The arguments of a call. `names` are the commands for one item, for several, for packed
    /// ones.
    pub fn words(self, names: [&str; 3], before: &str, key: &str, items: &[Vec<u8>]) -> Words {
        let start = |name: &str| arguments(&format!("{name} {key}"));
        match self {
            Self::One => [start(names[0]), items.to_vec()].concat(),
            Self::Many | Self::Insert => {
                [start(names[1]), arguments(before), items.to_vec()].concat()
            }
            Self::Packed { form, is_counted } => {
                let count = if is_counted { "COUNT" } else { "" };
                [start(names[2]), form.args(items), arguments(count)].concat()
            }
        }
    }

    /// The reply to an answer per item, of which the first may be all.
    fn reply(self, answers: &[String]) -> String {
        match self {
            Self::One => answers[0].clone(),
            _ => format!("*[{}]", answers.join(" ")),
        }
    }

    /// The reply to a call with packed items. `refusal` is the error, with the description of it in
    /// a call with COUNT.
    fn packed_reply(is_counted: bool, answers: &[bool], refusal: Option<(&str, String)>) -> String {
        let ones = answers.iter().filter(|&&answer| answer).count();
        let count = answers.len();
        let mut bytes = vec![0u8; count.div_ceil(8)];
        for (at, _) in answers.iter().enumerate().filter(|(_, answer)| **answer) {
            bytes[at / 8] |= 0x80 >> (at % 8);
        }
        match (is_counted, refusal) {
            (true, Some((error, description))) => format!("{error}: {description}"),
            (true, None) => format!("*[:{count} :{ones}]"),
            (false, refusal) => {
                let error = refusal.map(|(error, _)| format!(" {error}")).unwrap_or_default();
                format!("*[:{count} ${} {}{error}]", bytes.len(), bytes.escape_ascii())
            }
        }
    }

    /// The reply to a call that tests or deletes items.
    pub fn reply_of_answers(self, answers: &[bool]) -> String {
        match self {
            Self::Packed { is_counted, .. } => Self::packed_reply(is_counted, answers, None),
            _ => {
                let shown: Vec<_> =
                    answers.iter().map(|&it| format!(":{}", u8::from(it))).collect();
                self.reply(&shown)
            }
        }
    }
}

/// The permit of a call: once it has refused memory, it grants none.
pub fn permit(limit: u64) -> impl FnMut(Demand) -> bool {
    let mut is_over = false;
    move |demand| {
        is_over |= demand.filter_bytes > limit;
        !is_over
    }
}

/// An insertion as the server does it.
pub struct Insertion<'a> {
    pub items: &'a [Vec<u8>],
    pub manner: Manner,
    pub only_new: bool,
    pub limit: u64,
    pub is_resp3: bool,
}

impl Insertion<'_> {
    /// The arguments of the call.
    pub fn words(&self, is_cuckoo: bool, key: &str) -> Words {
        let (names, before) = match (is_cuckoo, self.only_new, self.manner) {
            (true, false, _) => (["CF.ADD", "CF.INSERT", "CF.BULKADD"], "ITEMS"),
            (true, true, _) => (["CF.ADDNX", "CF.INSERTNX", ""], "NOCREATE ITEMS"),
            (false, _, Manner::Insert) => (["", "BF.INSERT", ""], "NOCREATE ITEMS"),
            (false, ..) => (["BF.ADD", "BF.MADD", "BF.BULKADD"], ""),
        };
        self.manner.words(names, before, key, self.items)
    }

    /// Inserts the items into the filter. Returns the reply.
    pub fn insert(&self, filter: &mut Filter, now: u64) -> String {
        let is_cuckoo = filter.bloom().is_none();
        if let Some(windowed) = filter.windowed_mut()
            && windowed.has_time()
            && windowed.advance(now, &mut permit(self.limit)).is_err()
        {
            return "-ERR <any> rotate filter: <any>".to_owned();
        }
        // A call of packed items ends at the first one that a Bloom filter refuses.
        let mut items = self.items;
        if matches!(self.manner, Manner::Packed { .. }) && !is_cuckoo {
            let outcomes = filter.copy().insert(items, false, now, &mut permit(self.limit));
            let refused = outcomes.iter().position(|outcome| outcome.is_error());
            items = &items[..refused.map_or(items.len(), |at| at + 1)];
        }
        let outcomes = match self.manner {
            Manner::One => {
                vec![filter.insert_one(&items[0], self.only_new, now, &mut permit(self.limit))]
            }
            _ => filter.insert(items, self.only_new, now, &mut permit(self.limit)),
        };
        self.reply(is_cuckoo, &outcomes)
    }

    fn reply(&self, is_cuckoo: bool, outcomes: &[Outcome]) -> String {
        let error = |outcome: Outcome| match (outcome, is_cuckoo) {
            (Outcome::Full, false) => "-ERR non scaling filter is full",
            (Outcome::Full, true) => "-Filter is full",
            (_, false) => "-ERR problem inserting into filter",
            (_, true) => "-ERR Insufficient memory",
        };
        let Manner::Packed { form, is_counted } = self.manner else {
            let answer = |&outcome: &Outcome| match outcome {
                Outcome::New => ":1".to_owned(),
                Outcome::Refreshed | Outcome::Present => ":0".to_owned(),
                _ if !is_cuckoo || matches!(self.manner, Manner::One) => error(outcome).to_owned(),
                // Where RedisBloom's replies have booleans.
                _ if self.is_resp3 && !self.only_new => ":0".to_owned(),
                _ => ":-1".to_owned(),
            };
            return self.manner.reply(&outcomes.iter().map(answer).collect::<Vec<_>>());
        };
        let unit = if form == Form::Lines { "line" } else { "item" };
        let refused = outcomes.iter().position(|outcome| outcome.is_error());
        let processed = if is_cuckoo { outcomes.len() } else { refused.unwrap_or(outcomes.len()) };
        let answers: Vec<bool> =
            outcomes[..processed].iter().map(|&outcome| outcome == Outcome::New).collect();
        let ones = answers.iter().filter(|&&answer| answer).count();
        let refusal = refused.map(|at| {
            let description = match is_cuckoo {
                true => format!("{ones} of {processed} {unit}s were added"),
                false => format!(
                    "{unit} {} of {} was refused, {ones} of the {at} before it were new",
                    at + 1,
                    self.items.len()
                ),
            };
            (error(outcomes[at]), description)
        });
        Manner::packed_reply(is_counted, &answers, refusal)
    }
}
