//! The table of operations.

use super::choices::Choices;
use super::kinds::{Numbers, Shape};

/// Numbers of items: `first`, `first + stride`, and so on. With a stride of 0, copies of one item.
#[derive(Clone, Copy, Debug)]
pub struct Items {
    pub first: u64,
    pub count: u64,
    pub stride: u64,
}

/// Items with this bit are never inserted.
pub const ABSENT: u64 = 1 << 63;

/// The bytes of an item. Their lengths lie on both sides of every threshold of the hash functions,
/// and item 0 is empty.
pub fn item(number: u64) -> Vec<u8> {
    const PADDING: [usize; 16] = [0, 1, 0, 2, 3, 6, 14, 38, 0, 1, 0, 5, 127, 239, 260, 0];
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.truncate(if number < 1 << 32 { 4 } else { 8 });
    bytes.resize(bytes.len() + PADDING[(number % 16) as usize], b'x');
    if number == 0 { Vec::new() } else { bytes }
}

impl Items {
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |index| self.first + index * self.stride)
    }

    pub fn bytes(self) -> Vec<Vec<u8>> {
        self.numbers().map(item).collect()
    }
}

/// The order in which chunks are loaded.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    Forward,
    Backward,
    /// Each chunk twice.
    Twice,
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Inserts items in one call. If `is_refused`, no memory is granted.
    Insert {
        items: Items,
        only_new: bool,
        is_refused: bool,
    },
    /// Inserts as many new items as there is room for, and some more.
    Grow {
        more: u64,
    },
    Test(Items),
    Remove(Items),
    /// The clock moves on by 1/64 slots, or is set back by milliseconds, or by 1/64 slots.
    Pass {
        parts: u64,
        back: u64,
        back_parts: u64,
    },
    Advance {
        is_refused: bool,
    },
    Rotate,
    Compact,
    /// Merges the filter with an empty one of its kind, or a copy of it from the last step
    /// `Copy`, that got the items.
    Merge {
        items: Items,
        is_copy: bool,
        is_compacted: bool,
        is_refused: bool,
    },
    /// Continues with the filter of the header and the chunks, split into parts of a size.
    Load {
        size: u64,
        order: Order,
    },
    Copy,
    /// Changes fields of the dump, and lives on with the filter of it for some steps; see
    /// [`super::forgery`].
    Forge {
        changes: u64,
        seed: u64,
    },
}

/// What a choice depends on.
#[derive(Clone, Copy)]
pub struct Span {
    /// The numbers below this one were inserted.
    pub next: u64,
    /// The most items of a call.
    pub most: u64,
}

/// A kind of operation: a row of the table.
pub struct Row {
    pub name: &'static str,
    /// How often it is chosen, in proportion to the others.
    pub weight: u64,
    pub applies: fn(&Numbers) -> bool,
    pub choose: fn(&mut Choices, Span) -> Step,
}

const fn row(
    name: &'static str,
    weight: u64,
    applies: fn(&Numbers) -> bool,
    choose: fn(&mut Choices, Span) -> Step,
) -> Row {
    Row { name, weight, applies, choose }
}

fn always(_: &Numbers) -> bool {
    true
}

fn is_windowed(numbers: &Numbers) -> bool {
    numbers.window.is_some()
}

fn is_bloom(numbers: &Numbers) -> bool {
    !numbers.is_cuckoo()
}

/// All operations.
pub const STEPS: [Row; 15] = [
    row("insert", 24, always, |choices, span| Step::Insert {
        items: items(choices, span),
        only_new: choices.one_in(3),
        is_refused: false,
    }),
    row("insert one", 8, always, |choices, span| Step::Insert {
        items: Items { count: 1, ..items(choices, span) },
        only_new: choices.one_in(3),
        is_refused: false,
    }),
    row("insert copies", 6, Numbers::is_cuckoo, |choices, span| Step::Insert {
        items: Items { stride: 0, count: choices.within(2..=100), ..items(choices, span) },
        only_new: false,
        is_refused: false,
    }),
    row("insert without memory", 4, always, |choices, span| Step::Insert {
        items: items(choices, span),
        only_new: choices.one_in(3),
        is_refused: true,
    }),
    row("grow", 3, always, |choices, _| Step::Grow { more: choices.below(40) }),
    row("test", 6, always, |choices, span| Step::Test(items(choices, span))),
    row("remove", 12, Numbers::is_cuckoo, |choices, span| Step::Remove(known(choices, span))),
    row("pass", 16, is_windowed, |choices, _| Step::Pass {
        parts: choices.below(160),
        back: if choices.one_in(8) { choices.below(10_000) } else { 0 },
        back_parts: if choices.one_in(16) { choices.below(1_600) } else { 0 },
    }),
    row("advance", 3, is_windowed, |choices, _| Step::Advance { is_refused: choices.one_in(3) }),
    row("rotate", 6, is_windowed, |_, _| Step::Rotate),
    row("compact", 5, always, |_, _| Step::Compact),
    row("merge", 4, is_bloom, |choices, span| Step::Merge {
        items: items(choices, span),
        is_copy: choices.one_in(2),
        is_compacted: choices.one_in(4),
        is_refused: choices.one_in(4),
    }),
    row("load", 4, always, |choices, _| Step::Load {
        size: choices.of(&[1, 7, 64, 333, 4_096, u64::MAX]),
        order: choices.of(&[Order::Forward, Order::Backward, Order::Twice]),
    }),
    row("copy", 3, always, |_, _| Step::Copy),
    row("forge", 4, always, |choices, _| Step::Forge {
        changes: choices.below(4),
        seed: choices.any(),
    }),
];

/// Some items, of which some were inserted before.
fn items(choices: &mut Choices, span: Span) -> Items {
    let count = choices.within(1..=span.most);
    let first = if choices.one_in(2) { span.next } else { choices.below(span.next + 1) };
    Items { first, count, stride: choices.of(&[1, 1, 1, 3]) }
}

/// Items of which most were inserted before.
fn known(choices: &mut Choices, span: Span) -> Items {
    let first = choices.below(span.next.max(1));
    Items { first, count: choices.within(1..=span.most), stride: choices.of(&[1, 1, 2, 0]) }
}

/// The next operation of a filter, and its row.
pub fn choose(choices: &mut Choices, numbers: &Numbers, span: Span) -> (&'static str, Step) {
    let rows = || STEPS.iter().filter(|row| (row.applies)(numbers));
    let mut left = choices.below(rows().map(|row| row.weight).sum());
    for row in rows() {
        match left.checked_sub(row.weight) {
            Some(rest) => left = rest,
            None => return (row.name, (row.choose)(choices, span)),
        }
    }
    unreachable!("the weights are those of the rows")
}

/// True if an operation breaks the promises of a filter: a rotation by hand of a filter that
/// rotates itself may forget items too early.
pub fn breaks_promises(step: &Step, numbers: &Numbers) -> bool {
    matches!(step, Step::Rotate) && numbers.kind.shape != Shape::Manual
}
