//! The reference model of windowed filters: slow and simple, written from the documentation of
//! `bloomline_core::bloom::window`.
//!
//! A generation is one or two models of the layout without windows. Only the specification comes
//! from the library.

use bloomline_core::bloom::window::{Window, WindowSpec};
use bloomline_core::host::{Growth, Spec};

use crate::bloomline::{self, ModelLayer};

/// The most overflow layers of a generation.
const MAX_OVERFLOW_LAYERS: usize = 64;

/// The items of one slot.
pub struct Generation {
    pub regular: bloomline::Model,
    pub overflow: Option<bloomline::Model>,
    pub live: u64,
    pub opened: u64,
}

/// A filter.
pub struct Model {
    pub spec: WindowSpec,
    pub seed: u64,
    /// Oldest first. The last one is the newest.
    pub generations: Vec<Generation>,
    /// Rotations since the creation.
    pub number: u64,
    /// Bytes of all dropped generations.
    pub dropped_bytes: u64,
    /// With a window of items the earliest time of the next rotation; with a window of time, by how
    /// much the filter's time is ahead of the clock.
    pub clock: u64,
}

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    New,
    Refreshed,
    Present,
    Full,
    CannotGrow,
}

impl Generation {
    fn contains(&self, item: &[u8]) -> bool {
        self.regular.contains(item) || self.overflow.as_ref().is_some_and(|it| it.contains(item))
    }

    /// Items that were written.
    pub fn len(&self) -> u64 {
        self.regular.len() + self.overflow.as_ref().map_or(0, bloomline::Model::len)
    }

    /// True if no item was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The layers, oldest first.
    pub fn layers(&self) -> impl Iterator<Item = &ModelLayer> {
        self.regular.layers.iter().chain(self.overflow.iter().flat_map(|it| &it.layers))
    }

    fn bytes(&self) -> u64 {
        self.layers().map(|layer| layer.bits.as_raw_slice().len() as u64).sum()
    }
}

impl Model {
    /// An empty filter, for a specification whose numbers are all in range.
    pub fn new(spec: WindowSpec, seed: u64, now: u64) -> Self {
        let (number, dropped_bytes) = (0, 0);
        let clock = if spec.window == Window::Last { now } else { 0 };
        let mut model = Self { spec, seed, generations: Vec::new(), number, dropped_bytes, clock };
        let first = model.generation(now);
        model.generations.push(first);
        model
    }

    fn may_overflow(&self) -> bool {
        let is_counted_once = self.spec.window == Window::Last && !self.spec.refreshes;
        self.spec.growth != Growth::Fixed && !is_counted_once
    }

    /// The error budget of one generation, and the items of its regular layer.
    fn share(&self) -> (f64, u64) {
        let generations = self.spec.generations;
        let mut items = self.spec.capacity;
        if self.spec.window == Window::Last && self.spec.refreshes {
            // Refreshed by mistake: at most half of the error rate of the items, and 3 standard
            // deviations of a Poisson distribution.
            let mean = 0.5 * self.spec.error_rate * items as f64;
            items += (mean + 3.0 * mean.sqrt()).floor() as u64;
        }
        let capacity = items.div_ceil(u64::from(generations));
        (self.spec.error_rate / f64::from(generations + 1), capacity)
    }

    fn generation(&self, opened: u64) -> Generation {
        let (budget, capacity) = self.share();
        let error_rate = if self.may_overflow() { budget * 0.875 } else { budget };
        let spec = Spec { capacity, error_rate, growth: Growth::Fixed };
        let regular = bloomline::Model::part(spec, self.seed);
        Generation { regular, overflow: None, live: 0, opened }
    }

    fn newest(&mut self) -> &mut Generation {
        self.generations.last_mut().expect("at least one")
    }

    /// The window and the slot of a filter with a window of time.
    fn times(&self) -> Option<(u64, u64)> {
        let Window::Time { millis } = self.spec.window else { return None };
        Some((millis, millis.div_ceil(u64::from(self.spec.generations))))
    }

    fn is_expired(&self, generation: &Generation, now: u64) -> bool {
        self.times().is_some_and(|(window, slot)| generation.opened + slot + window <= now)
    }

    /// The filter's time when the clock shows `clock`. It goes on where it was if the clock was set
    /// back to before the newest generation was opened.
    pub fn time_at(&self, clock: u64) -> u64 {
        let newest = self.generations.last().expect("at least one").opened;
        if clock < newest { newest.max(clock + self.clock) } else { clock }
    }

    /// True if a generation that answers contains the item when the clock shows `clock`.
    pub fn contains(&self, item: &[u8], clock: u64) -> bool {
        let now = self.time_at(clock);
        let mut answering = self.generations.iter().filter(|it| !self.is_expired(it, now));
        answering.any(|generation| generation.contains(item))
    }

    /// Items in all generations that answer when the clock shows `clock`.
    pub fn len_at(&self, clock: u64) -> u64 {
        let now = self.time_at(clock);
        let answering = self.generations.iter().filter(|it| !self.is_expired(it, now));
        answering.map(|generation| generation.live).sum()
    }

    /// Where the bytes of the newest generation end.
    pub fn end(&self) -> u64 {
        self.dropped_bytes + self.generations.iter().map(Generation::bytes).sum::<u64>()
    }

    fn drop_oldest(&mut self, count: usize) {
        for generation in self.generations.drain(..count) {
            self.dropped_bytes += generation.bytes();
        }
    }

    fn open(&mut self, now: u64) {
        let generation = self.generation(now);
        self.generations.push(generation);
        self.number += 1;
    }

    /// Brings the filter to the time at which the clock shows `clock`.
    pub fn advance(&mut self, clock: u64) {
        if let Some((_, slot)) = self.times() {
            let now = self.time_at(clock);
            self.clock = now - clock;
            let expired = self.generations.iter().filter(|it| self.is_expired(it, now)).count();
            self.drop_oldest(expired);
            if self.generations.last().is_none_or(|newest| newest.opened + slot <= now) {
                self.open(now);
            }
            let most = self.spec.generations as usize + 1;
            self.drop_oldest(self.generations.len().saturating_sub(most));
        } else if self.spec.window == Window::Last {
            self.clock = self.clock.max(clock);
        }
    }

    /// Opens a generation, and drops the oldest if there are too many.
    pub fn rotate(&mut self, now: u64) {
        let now = now.max(self.newest().opened);
        if self.generations.len() > self.spec.generations as usize {
            self.drop_oldest(1);
        }
        self.open(now);
    }

    fn rotate_by_count(&mut self) {
        let capacity = self.share().1;
        if self.spec.window != Window::Last || self.newest().regular.len() < capacity {
            return;
        }
        let is_complete = self.generations.len() > self.spec.generations as usize;
        if is_complete {
            // The oldest generation is kept until a window of distinct items came after it.
            if self.generations[1..].iter().map(|it| it.live).sum::<u64>() < self.spec.capacity {
                return;
            }
            self.drop_oldest(1);
        }
        let now = self.clock.max(self.newest().opened);
        self.open(now);
    }

    /// Inserts an item, after [`Model::advance`].
    pub fn insert(&mut self, item: &[u8]) -> Answer {
        if self.newest().contains(item) {
            return Answer::Present;
        }
        let origin = self.generations.iter().rposition(|generation| generation.contains(item));
        if origin.is_some() && !self.spec.refreshes {
            return Answer::Present;
        }
        // Rotations change the indexes of generations, but not their numbers.
        let oldest = self.number + 1 - self.generations.len() as u64;
        let origin = origin.map(|index| oldest + index as u64);
        self.rotate_by_count();
        let failed = self.write(item);
        if let Some(answer) = failed {
            return answer;
        }
        let oldest = self.number + 1 - self.generations.len() as u64;
        let counted = match origin.and_then(|number| number.checked_sub(oldest)) {
            Some(index) => {
                let origin = &mut self.generations[index as usize];
                let moved = origin.live.min(1);
                origin.live -= moved;
                moved
            }
            None => 1,
        };
        self.newest().live += counted;
        if origin.is_some() { Answer::Refreshed } else { Answer::New }
    }

    /// Writes an item to the newest generation, or returns why not.
    fn write(&mut self, item: &[u8]) -> Option<Answer> {
        let ((budget, capacity), seed) = (self.share(), self.seed);
        let (may_overflow, growth) = (self.may_overflow(), self.spec.growth);
        let newest = self.newest();
        if newest.regular.len() < capacity {
            assert_eq!(newest.regular.insert(item), bloomline::Answer::New);
            return None;
        }
        let Growth::Scaling { expansion } = growth else { return Some(Answer::Full) };
        if !may_overflow {
            return Some(Answer::Full);
        }
        let overflow = newest.overflow.get_or_insert_with(|| {
            let capacity = capacity.saturating_mul(u64::from(expansion));
            bloomline::Model::part(Spec { capacity, error_rate: budget * 0.125, growth }, seed)
        });
        let last = overflow.layers.last().expect("at least one");
        if overflow.newest_len == last.capacity && overflow.layers.len() >= MAX_OVERFLOW_LAYERS {
            return Some(Answer::CannotGrow);
        }
        match overflow.insert(item) {
            bloomline::Answer::New => None,
            bloomline::Answer::CannotGrow => Some(Answer::CannotGrow),
            other => panic!("{other:?} for an item that the generation does not contain"),
        }
    }

    /// Distinct items in all generations.
    pub fn len(&self) -> u64 {
        self.generations.iter().map(|generation| generation.live).sum()
    }

    /// True if no generation has an item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bits of each layer, oldest first.
    pub fn bits(&self) -> Vec<Vec<u8>> {
        let layers = self.generations.iter().flat_map(Generation::layers);
        layers.map(|layer| layer.bits.as_raw_slice().to_vec()).collect()
    }
}
