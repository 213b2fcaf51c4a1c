//! The options of BF.RESERVE and BF.INSERT.

use std::ffi::CStr;

use super::text::{CANNOT_EXPAND, Failure, unknown_word};
use crate::server::args::{Arg, Args};
use crate::server::setting::{
    ERROR_RATE, EXPANSION_FACTOR, INITIAL_SIZE, LAYOUT, LAYOUTS, REDISBLOOM_REPLICAS,
};
use bloomline_core::bloomline::geometry::{MAX_CAPACITY, MAX_ERROR_RATE};
use bloomline_core::{Growth, Layout, MAX_EXPANSION, Spec};

/// The largest capacity in RedisBloom's layout, as there.
const MAX_CAPACITY_OF_CHAIN: u64 = 1 << 30;

/// The filter that a call asks for.
#[derive(Clone, Copy)]
pub struct Asked {
    /// Capacity, error rate, growth.
    pub spec: Spec,
    /// The expansion that RedisBloom's layout stores even where the filter does not grow.
    pub stored_expansion: u32,
    /// The layout.
    pub layout: Layout,
}

/// Who sends the call, and so how its words are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A client: words are whole, and unknown ones an error.
    Client,
    /// A primary or a file. Ours send no call that creates a filter, so it is RedisBloom's, whose
    /// words are read as it reads them, and the filter is in its layout.
    RedisBloom,
}

impl Asked {
    /// What is created where a call says nothing of it.
    pub fn by_default(sender: Sender) -> Self {
        let expansion = EXPANSION_FACTOR.integer() as u32;
        let spec = Spec {
            capacity: INITIAL_SIZE.integer(),
            error_rate: ERROR_RATE.number(),
            growth: growth(expansion),
        };
        let layout = match (sender, LAYOUT.integer()) {
            (Sender::Client, 0) if !REDISBLOOM_REPLICAS.is_on() => Layout::Bloomline,
            _ => Layout::RedisBloom,
        };
        Self { spec, stored_expansion: expansion, layout }
    }

    fn is_fixed(&self) -> bool {
        self.spec.growth == Growth::Fixed
    }

    /// Takes the layout from the words behind the key; whether one is named there.
    fn take_layout(&mut self, words: Args) -> Result<bool, Failure> {
        let mut words =
            words.iter().take_while(|word| !word.is("ITEMS")).skip_while(|word| !word.is("LAYOUT"));
        let Some(_) = words.next() else { return Ok(false) };
        let name = words.next().ok_or(Failure::Arity)?;
        self.layout = match LAYOUTS.iter().position(|layout| name.is(layout)) {
            Some(0) => Layout::Bloomline,
            Some(_) => Layout::RedisBloom,
            None => return Err(unknown_word(name)),
        };
        Ok(true)
    }

    fn capacity(&self, given: i64, sender: Sender) -> Option<u64> {
        let most = match (sender, self.layout) {
            (Sender::Client, Layout::Bloomline) => MAX_CAPACITY,
            (Sender::Client, Layout::RedisBloom) => MAX_CAPACITY_OF_CHAIN,
            // Releases before 8 had no such limit; the memory decides.
            (Sender::RedisBloom, _) => u64::MAX,
        };
        u64::try_from(given).ok().filter(|n| (1..=most).contains(n))
    }
}

/// An expansion as clients write it: 0 stands for a filter that does not grow.
fn growth(expansion: u32) -> Growth {
    match expansion {
        0 => Growth::Fixed,
        expansion => Growth::Scaling { expansion },
    }
}

/// An error rate above 0 and below 1; above 0.25 it is taken for 0.25, as RedisBloom does.
fn error_rate(
    arg: Arg,
    unreadable: &'static CStr,
    out_of_range: &'static CStr,
) -> Result<f64, Failure> {
    let rate = arg.number().ok_or(unreadable)?;
    if rate > 0.0 && rate < 1.0 { Ok(rate.min(MAX_ERROR_RATE)) } else { Err(out_of_range.into()) }
}

fn expansion(given: i64, sender: Sender) -> Option<u32> {
    // Releases before 8 had no limit.
    u32::try_from(given).ok().filter(|&n| n <= MAX_EXPANSION || sender == Sender::RedisBloom)
}

/// `error_rate capacity [EXPANSION n] [NONSCALING] [LAYOUT name]`, the checks in RedisBloom's
/// order.
pub fn reserve(key: Arg, words: Args, sender: Sender) -> Result<Asked, Failure> {
    let (Some(rate), Some(size)) = (words.get(0), words.get(1)) else { return Err(Failure::Arity) };
    let options = words.from(2);
    let mut asked = Asked::by_default(sender);
    let names_layout = sender == Sender::Client && asked.take_layout(options)?;
    // All of RedisBloom's options are three words.
    if options.len() > if names_layout { 5 } else { 3 } {
        return Err(Failure::Arity);
    }
    asked.spec.error_rate = error_rate(
        rate,
        c"ERR bad error rate",
        c"ERR error rate must be in the range (0.000000, 1.000000)",
    )?;
    let capacity = size.integer().ok_or(c"ERR bad capacity")?;
    asked.spec.capacity = asked.capacity(capacity, sender).ok_or(match asked.layout {
        Layout::Bloomline => c"ERR capacity must be in the range [1, 1099511627776]",
        Layout::RedisBloom => c"ERR capacity must be in the range [1, 1073741824]",
    })?;
    let (mut is_fixed, given) = match sender {
        Sender::Client => reserve_options(options)?,
        Sender::RedisBloom => redisbloom_options(key, words)?,
    };
    is_fixed |= asked.is_fixed();
    match given {
        Some(0) => (is_fixed, asked.stored_expansion) = (true, 0),
        Some(_) if is_fixed => return Err(CANNOT_EXPAND.into()),
        Some(n) => {
            asked.stored_expansion =
                expansion(n, sender).ok_or(c"ERR expansion must be in the range [0, 32768]")?;
        }
        None => {}
    }
    asked.spec.growth = if is_fixed { Growth::Fixed } else { growth(asked.stored_expansion) };
    Ok(asked)
}

/// Whether NONSCALING is there, and the value of EXPANSION.
fn reserve_options(options: Args) -> Result<(bool, Option<i64>), Failure> {
    let (mut is_fixed, mut given) = (false, None);
    let mut words = options.iter();
    while let Some(word) = words.next() {
        if word.is("NONSCALING") {
            is_fixed = true;
        } else if word.is("EXPANSION") {
            let value = words.next().ok_or(c"ERR no expansion")?;
            given = Some(value.integer().ok_or(c"ERR bad expansion")?);
        } else if word.is("LAYOUT") {
            // Taken before.
            words.next();
        } else {
            return Err(unknown_word(word));
        }
    }
    Ok((is_fixed, given))
}

/// The same as RedisBloom finds them: anywhere, the key and the numbers included; other words are
/// nothing to it.
fn redisbloom_options(key: Arg, words: Args) -> Result<(bool, Option<i64>), Failure> {
    let all = || std::iter::once(key).chain(words.iter());
    let is_fixed = all().any(|word| word.is("NONSCALING"));
    let mut from_expansion = all().skip_while(|word| !word.is("EXPANSION"));
    let given = match from_expansion.next() {
        None => None,
        Some(_) => {
            let value = from_expansion.next().ok_or(c"ERR no expansion")?;
            Some(value.integer().ok_or(c"ERR bad expansion")?)
        }
    };
    Ok((is_fixed, given))
}

/// What BF.INSERT was asked.
pub struct Insert<'a> {
    /// The filter to be made if there is none.
    pub asked: Asked,
    /// Whether one may be made.
    pub may_create: bool,
    /// The items, at least one.
    pub items: Args<'a>,
}

/// The words of BF.INSERT.
#[derive(Clone, Copy)]
enum Word {
    Items,
    Capacity,
    Error,
    Expansion,
    Layout,
    NoCreate,
    NonScaling,
}

/// A word of BF.INSERT: whole from a client, by its letters where RedisBloom has taken it for one.
fn word_of(arg: Arg, sender: Sender) -> Option<Word> {
    const WORDS: [(&str, Word); 7] = [
        ("ITEMS", Word::Items),
        ("CAPACITY", Word::Capacity),
        ("ERROR", Word::Error),
        ("EXPANSION", Word::Expansion),
        ("LAYOUT", Word::Layout),
        ("NOCREATE", Word::NoCreate),
        ("NONSCALING", Word::NonScaling),
    ];
    if sender == Sender::Client {
        return WORDS.iter().find(|(name, _)| arg.is(name)).map(|&(_, word)| word);
    }
    let letter = |index| arg.bytes().get(index).map(u8::to_ascii_lowercase);
    match letter(0)? {
        b'i' => Some(Word::Items),
        b'c' => Some(Word::Capacity),
        b'e' if letter(1) == Some(b'r') => Some(Word::Error),
        b'e' => Some(Word::Expansion),
        b'n' if letter(2) == Some(b'c') => Some(Word::NoCreate),
        b'n' => Some(Word::NonScaling),
        _ => None,
    }
}

/// `[CAPACITY n] [ERROR f] [EXPANSION n] [NOCREATE] [NONSCALING] [LAYOUT name] ITEMS item [item
/// ...]`; of repeated words the last counts.
pub fn insert(words: Args<'_>, sender: Sender) -> Result<Insert<'_>, Failure> {
    let mut asked = Asked::by_default(sender);
    if sender == Sender::Client {
        asked.take_layout(words)?;
    }
    let mut is_fixed = asked.is_fixed();
    let mut may_create = true;
    let mut index = 0;
    while let Some(arg) = words.get(index) {
        let value = words.get(index + 1).ok_or(Failure::Arity);
        index += 2;
        match word_of(arg, sender).ok_or_else(|| unknown_word(arg))? {
            Word::Items => {
                value?;
                asked.spec.growth =
                    if is_fixed { Growth::Fixed } else { growth(asked.stored_expansion) };
                return Ok(Insert { asked, may_create, items: words.from(index - 1) });
            }
            Word::Capacity => {
                let capacity = value?.integer().and_then(|given| asked.capacity(given, sender));
                asked.spec.capacity = capacity.ok_or(c"Bad capacity")?;
            }
            Word::Error => {
                asked.spec.error_rate = error_rate(value?, c"Bad error rate", c"Bad error rate")?;
            }
            Word::Expansion => {
                asked.stored_expansion = value?
                    .integer()
                    .and_then(|given| expansion(given, sender))
                    .ok_or(c"Bad expansion")?;
                is_fixed |= asked.stored_expansion == 0;
            }
            // Taken before.
            Word::Layout => drop(value?),
            Word::NoCreate => (may_create, index) = (false, index - 1),
            Word::NonScaling => (is_fixed, index) = (true, index - 1),
        }
    }
    Err(Failure::Arity)
}
