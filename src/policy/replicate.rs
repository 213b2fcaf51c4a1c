//! What is replicated of a call: its effects, which do not depend on the settings of replicas.

use std::ffi::CStr;
use std::mem;
use std::ops::ControlFlow;

use super::setting::REDISBLOOM_REPLICAS;
use crate::server::args::{Arg, ArgList, Args};
use crate::server::context::{Context, Operands};
use bloomline_core::AnyFilter;
use bloomline_core::chunk::MAX_CHUNK_BYTES;

/// Items per word of [`NewItems`].
const WORD_BITS: usize = u64::BITS as usize;

/// Which items of a call were written: one bit per item. A call of fewer than 64 items allocates
/// nothing for it.
///
/// Not `bitvec::vec::BitVec`: with its `push`, BF.MADD of 100 new and 100 known items takes 8 %
/// longer.
#[derive(Default)]
pub struct NewItems {
    /// How many items were recorded.
    recorded: usize,
    /// The bits of the recorded items in full words, the first item in the lowest bit.
    full_words: Vec<u64>,
    /// The bits of the recorded items after the full words.
    word: u64,
    has_refused: bool,
}

impl NewItems {
    /// Records whether the next item was new.
    #[inline(always)]
    pub fn record(&mut self, is_new: bool) {
        self.word |= u64::from(is_new) << (self.recorded % WORD_BITS);
        self.recorded += 1;
        if self.recorded.is_multiple_of(WORD_BITS) {
            self.end_word();
        }
    }

    /// Not inlined, so that [`NewItems::record`] is small enough to be.
    #[inline(never)]
    fn end_word(&mut self) {
        self.full_words.push(mem::take(&mut self.word));
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
        self.recorded
    }

    /// True if no item was new.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of items that were new.
    fn len(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// The bits of all items; 0 for items that were not recorded.
    fn words(&self) -> impl Iterator<Item = u64> + Clone {
        self.full_words.iter().copied().chain([self.word])
    }

    /// True if at least 15/16 of the items were new and none was refused, so that the call is
    /// replicated verbatim.
    ///
    /// The other items are not new on replicas either, because the filters are equal. A list of
    /// the new items costs 6 % of the call's time, even if there is nothing to replicate to; a
    /// verbatim call costs nothing then.
    pub fn are_nearly_all(&self) -> bool {
        !self.has_refused && (self.recorded - self.len()) * 16 <= self.recorded
    }

    /// Those of the items of the call that were new, in order.
    pub fn select<T>(
        &self,
        items: impl Iterator<Item = T> + Clone,
    ) -> impl Iterator<Item = T> + Clone {
        let bits =
            self.words().flat_map(|word| (0..WORD_BITS).map(move |bit| word >> bit & 1 == 1));
        items.zip(bits).filter(|&(_, is_new)| is_new).map(|(item, _)| item)
    }

    /// Replicates the new items of a call as BF.ADD or BF.MADD; nothing if no item was new. The
    /// items are copied to a list only if some were not new.
    pub fn replicate(&self, context: Context, key: Arg, items: Args) {
        let len = self.len();
        if len == items.len() {
            return replicate_items(context, key, items);
        }
        let mut new = ArgList::with_capacity(len);
        let mut items = items.iter();
        for word in self.words() {
            let is_new = |index: usize| word >> index & 1 == 1;
            let chunk = items.by_ref().take(WORD_BITS).enumerate();
            new.extend(chunk.filter(|&(index, _)| is_new(index)).map(|(_, item)| item));
        }
        replicate_items(context, key, new.args());
    }
}

fn replicate_items(context: Context, key: Arg, items: Args) {
    let command = match items.len() {
        0 => return,
        1 => c"BF.ADD",
        _ => c"BF.MADD",
    };
    context.replicate(command, key, Operands::Args(items));
}

/// Replicates BF.BULKADD with items that are packed in a form, which has a width or not.
pub fn packed(context: Context, key: Arg, form: &CStr, width: Option<usize>, data: &[u8]) {
    let width = width.map(|width| i64::try_from(width).unwrap_or(i64::MAX));
    context.replicate(c"BF.BULKADD", key, Operands::Packed { form, width, data });
}

/// True if replicas know BF.BULKADD.
pub fn replicas_know_packed() -> bool {
    !REDISBLOOM_REPLICAS.is_on()
}

/// Replicates packed items as BF.MADD, for replicas that know no others.
pub fn unpacked<'a>(context: Context, key: Arg, mut items: impl Iterator<Item = &'a [u8]>) {
    /// Items per call, each of which becomes a string of the server.
    const MOST: usize = 10_000;
    loop {
        let part: Vec<&[u8]> = items.by_ref().take(MOST).collect();
        if part.is_empty() {
            return;
        }
        context.replicate(c"BF.MADD", key, Operands::Strings(&part));
    }
}

/// Replicates BF.LOADCHUNK: with iterator 1 the header of a filter, with others its bits.
pub fn chunk(context: Context, key: Arg, iterator: u64, data: &[u8]) {
    context.replicate(c"BF.LOADCHUNK", key, Operands::IntegerAndBytes(iterator as i64, data));
}

/// Replicates the rotation of a filter that forgets, at a time in milliseconds of Unix time. Filters
/// of replicas and of files rotate by nothing else.
pub fn rotation(context: Context, key: Arg, at: u64) {
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    context.replicate(c"BF.ROTATE", key, Operands::Option(c"AT", at));
}

/// Replicates the deletion of a key.
fn deletion(context: Context, key: Arg) {
    context.replicate(c"DEL", key, Operands::None);
}

/// Replicates when a key expires, in milliseconds of Unix time.
pub fn expiry(context: Context, key: Arg, at: i64) {
    context.replicate(c"PEXPIREAT", key, Operands::Integer(at));
}

/// Replicates a call that has changed the bits of a filter, the new ones of which are `filter`:
/// verbatim, or by content for replicas that do not know the command.
pub fn rewrite(context: Context, key: Arg, filter: &AnyFilter, expires_at: Option<i64>) {
    if REDISBLOOM_REPLICAS.is_on() {
        content(context, key, filter, expires_at);
    } else {
        context.replicate_verbatim();
    }
}

/// Replicates a key as DEL, BF.LOADCHUNK with header and bits, and PEXPIREAT.
pub fn content(context: Context, key: Arg, filter: &AnyFilter, expires_at: Option<i64>) {
    deletion(context, key);
    each_loadchunk(filter, |iterator, data| chunk(context, key, iterator, data));
    if let Some(at) = expires_at {
        expiry(context, key, at);
    }
}

/// Calls a function with iterator and data of each BF.LOADCHUNK that recreates the filter: first
/// the header, then each chunk that has a set bit.
pub fn each_loadchunk(filter: &AnyFilter, mut load: impl FnMut(u64, &[u8])) {
    load(1, &filter.encode_header());
    filter.each_chunk(0, MAX_CHUNK_BYTES, |chunk| {
        if !chunk.is_zero() {
            load(chunk.end() + 1, chunk.bytes());
        }
        ControlFlow::Continue(())
    });
}
