//! What is replicated of a call: its effects, which do not depend on the settings of replicas.
//!
//! For what depends on the filter see `data_type::replicate`.

use std::ffi::CStr;

use super::bits::Bits;
use crate::server::args::{Arg, ArgList, Args};
use crate::server::context::{Context, Operands};

/// Which items of a call were written: one bit per item.
pub struct NewItems {
    recorded: Bits,
    has_refused: bool,
}

impl NewItems {
    /// Room for the items of a call; `None` if there is no memory for it.
    pub fn to(items: usize) -> Option<Self> {
        Some(Self { recorded: Bits::with_room(items)?, has_refused: false })
    }

    /// Records whether the next item was new.
    #[inline(always)]
    pub fn record(&mut self, is_new: bool) {
        self.recorded.push(is_new);
    }

    /// Records that the next item was refused. It is not replicated, because a replica would insert
    /// it.
    #[cold]
    pub fn record_refused(&mut self) {
        self.record(false);
        self.has_refused = true;
    }

    /// The number of items that were recorded.
    pub fn recorded(&self) -> usize {
        self.recorded.count()
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        !self.recorded.any()
    }

    /// The number of items that were new.
    pub fn len(&self) -> usize {
        self.recorded.ones()
    }

    /// The number of items that were not new.
    pub fn others(&self) -> usize {
        self.recorded() - self.len()
    }

    /// True if at least 15/16 of the items were new and none was refused, so that the call is
    /// replicated verbatim.
    ///
    /// The other items are not new on replicas either, because the filters are equal. A list of
    /// the new items takes time even if there is nothing to replicate to; a verbatim call takes
    /// none then. See docs/explanation/performance.md.
    pub fn are_nearly_all(&self) -> bool {
        !self.has_refused && self.others() * 16 <= self.recorded()
    }

    /// The new items of the call, in order.
    pub fn select<T>(
        &self,
        items: impl Iterator<Item = T> + Clone,
    ) -> impl Iterator<Item = T> + Clone {
        items.zip(self.recorded.iter()).filter(|&(_, is_new)| is_new).map(|(item, _)| item)
    }

    /// Replicates the new items of a call; nothing if no item was new. If some were not new, the
    /// others are collected in `new`, which has room for them.
    pub fn replicate<'a>(
        &self,
        context: Context,
        key: Arg,
        items: Args<'a>,
        new: ArgList<'a>,
        by: &ItemCommands,
    ) {
        if self.len() == items.len() {
            return by.replicate(context, key, items);
        }
        new.pick(self.select(items.iter()), |new| by.replicate(context, key, new));
    }
}

/// The commands that change items, for replication.
pub struct ItemCommands {
    /// The command for one item.
    pub one: &'static CStr,
    /// The command for several items.
    pub several: &'static CStr,
    /// The word before several items.
    pub before: Option<&'static CStr>,
    /// True if RedisBloom knows the command for several items.
    pub is_several_known: bool,
    /// The command for packed items, which only Bloomline knows.
    pub packed: &'static CStr,
}

/// Additions to a Bloom filter.
pub static ADD: ItemCommands = ItemCommands {
    one: c"BF.ADD",
    several: c"BF.MADD",
    before: None,
    is_several_known: true,
    packed: c"BF.BULKADD",
};

impl ItemCommands {
    fn replicate(&self, context: Context, key: Arg, items: Args) {
        match (items.len(), self.before) {
            (0, _) => {}
            (1, _) => context.replicate(self.one, key, Operands::Args(items)),
            (_, None) => context.replicate(self.several, key, Operands::Args(items)),
            (_, Some(word)) => {
                context.replicate(self.several, key, Operands::WordAndArgs(word, items));
            }
        }
    }
}

/// Replicates a command with items that are packed in a form, which has a width or not.
pub fn packed(
    context: Context,
    key: Arg,
    by: &ItemCommands,
    form: &CStr,
    width: Option<usize>,
    data: &[u8],
) {
    let width = width.map(|width| i64::try_from(width).unwrap_or(i64::MAX));
    context.replicate(by.packed, key, Operands::Packed { form, width, data });
}

/// Replicates the rotation of a windowed filter, at a time in milliseconds of Unix time. Filters
/// of replicas and of files rotate by nothing else.
pub fn rotation(context: Context, key: Arg, at: u64) {
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    context.replicate(c"BF.ROTATE", key, Operands::Option(c"AT", at));
}

/// Replicates that a key is deleted.
pub fn deletion(context: Context, key: Arg) {
    context.replicate(c"DEL", key, Operands::None);
}

/// Replicates when a key expires, in milliseconds of Unix time.
pub fn expiry(context: Context, key: Arg, at: i64) {
    context.replicate(c"PEXPIREAT", key, Operands::Integer(at));
}
