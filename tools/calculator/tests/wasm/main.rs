//! The calculator as WebAssembly: built, run in an interpreter, and compared with `make plan`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod page;

use bloomline_calculator::{Refusal, Value};
use bloomline_core::host::{Growth, Spec};
use bloomline_core::window::{Window, WindowSpec};
use bloomline_tools::compared::RedisBloomPlan;
use bloomline_tools::plan::Plan;
use bloomline_tools::used::Rounding;
use bloomline_tools::windowed::WindowedPlan;
use wasmi::{Engine, Module};

use page::{Page, file};

/// A page loads the file before it shows a number.
const MOST_BYTES: usize = 60_000;

/// Random numbers with a fixed seed: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number from 10^`low` to 10^`high`, any magnitude equally likely.
    fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        let part = self.below(1 << 20) as f64 / (1 << 20) as f64;
        10f64.powf(low + part * (high - low))
    }

    /// Items, capacity and error rate, and an expansion with 0 for NONSCALING.
    fn size(&mut self) -> (u64, u64, f64, u32) {
        let capacity = self.magnitude(2.0, 10.5) as u64;
        let items = (capacity as f64 * self.magnitude(-2.0, 2.0)).ceil() as u64;
        let expansion = [0, 1, 2, 2, 4, 10][self.below(6) as usize];
        (items, capacity, self.magnitude(-9.0, -0.7), expansion)
    }
}

fn growth(expansion: u32) -> Growth {
    match expansion {
        0 => Growth::Fixed,
        expansion => Growth::Scaling { expansion },
    }
}

#[test]
fn the_file_is_small_and_needs_nothing_of_a_page() {
    let Some(file) = file() else { return };
    println!("{} bytes", file.len());
    assert!(file.len() < MOST_BYTES, "{} bytes", file.len());
    let module = Module::new(&Engine::default(), file).expect("WebAssembly");
    assert_eq!(module.imports().count(), 0);
}

#[test]
fn plans_equal_those_of_make_plan() {
    let Some(page) = Page::open() else { return };
    compare_plans(page);
}

/// If this fails, `make calculator` writes the file of the page again.
#[test]
fn the_checked_in_page_plans_as_make_plan() {
    compare_plans(Page::checked_in());
    compare_plans_that_forget(Page::checked_in());
}

fn compare_plans(mut page: Page) {
    let mut random = Random(1);
    let (mut planned, mut compacted) = (0, 0);
    while planned < 100 {
        let (items, capacity, error_rate, expansion) = random.size();
        let count = page.plan([items as f64, capacity as f64, error_rate, expansion.into()]);
        let spec = Spec { capacity, error_rate, growth: growth(expansion) };
        let plan = match Plan::new(spec, items) {
            Ok(plan) => plan,
            Err(error) => {
                assert_eq!(count, Refusal::from(error) as i32, "{error}");
                continue;
            }
        };
        planned += 1;
        compacted += u32::from(plan.freed_bytes() != 0);
        let (bytes, layers) = (plan.size_bytes(), plan.layer_count() as f64);
        let after = (bytes - plan.freed_bytes()) as f64;
        let rates = [plan.bits_an_item(), plan.fp_rate()];
        let values = [bytes as f64, after, rates[0], rates[1], layers, 1.0];
        assert_eq!(page.values(), values, "{}, {items} items", plan.command("key"));
        assert_eq!(page.used_bytes(), plan.used_bytes(Rounding::Classes) as f64);
        page.check_layers(count, plan.in_layers());
        check_compared(&mut page, spec, items);
        for fewer in [0, 1, items / 3, items / 2, items] {
            assert_eq!(page.rate_at(fewer), plan.fp_rate_at(fewer));
        }
    }
    assert!(compacted > 20, "{compacted} of {planned}");
}

fn check_compared(page: &mut Page, spec: Spec, items: u64) {
    let [bytes, layers, least, classic] = page.compared();
    match RedisBloomPlan::new(spec, items) {
        Ok(plan) => {
            let expected = (plan.size_bytes() as f64, f64::from(plan.layer_count()));
            assert_eq!((bytes, layers), expected);
        }
        Err(_) => assert!(bytes.is_nan() && layers.is_nan()),
    }
    // -log2 e, and the same divided by ln 2, to a byte and rounding.
    let bits = -(spec.error_rate.ln() / 2f64.ln()) * items as f64;
    assert!((least - bits / 8.0).abs() <= 1.0 + bits * 1e-12, "{least}");
    assert!((classic - bits / 8.0 / 2f64.ln()).abs() <= 1.0 + bits * 1e-12, "{classic}");
}

#[test]
fn plans_that_forget_equal_those_of_make_plan() {
    let Some(page) = Page::open() else { return };
    compare_plans_that_forget(page);
}

fn compare_plans_that_forget(mut page: Page) {
    let mut random = Random(2);
    let (mut planned, mut compacted) = (0, 0);
    while planned < 100 {
        let (items, capacity, error_rate, expansion) = random.size();
        let (generations, refreshes) = (1 + random.below(65) as u32, random.below(2) == 0);
        let (seconds, window) = match random.below(3) {
            0 => (-1.0, Window::Manual),
            1 => (0.0, Window::Last),
            _ => {
                let seconds = 1 + random.below(1_000_000);
                (seconds as f64, Window::Time { millis: seconds * 1000 })
            }
        };
        let size = [items as f64, capacity as f64, error_rate, expansion.into()];
        let lifetime = [seconds, generations.into(), f64::from(u8::from(refreshes))];
        let count = page.plan_forgetting(size, lifetime);
        let growth = growth(expansion);
        let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
        let plan = match WindowedPlan::new(spec, items) {
            Ok(plan) => plan,
            Err(error) => {
                assert_eq!(count, Refusal::from(error) as i32, "{error}");
                continue;
            }
        };
        planned += 1;
        compacted += u32::from(plan.freed_bytes() != 0);
        let (bytes, layers) = (plan.size_bytes(), plan.layer_count() as f64);
        let after = (bytes - plan.freed_bytes()) as f64;
        let rates = [plan.bits_per_item(), plan.fp_rate()];
        let all = f64::from(plan.generation_count());
        let values = [bytes as f64, after, rates[0], rates[1], layers, all];
        assert_eq!(page.values(), values, "{}, {items} items", plan.command("key"));
        assert_eq!(page.used_bytes(), plan.used_bytes(Rounding::Classes) as f64);
        page.check_layers(count, plan.in_layers());
        for fewer in [0, 1, items / 3, items / 2, items] {
            assert_eq!(page.rate_at(fewer), plan.fp_rate_at(fewer));
        }
    }
    assert!(compacted > 20, "{compacted} of {planned}");
}

#[test]
fn rates_of_fewer_items_are_those_of_their_own_plans() {
    let mut random = Random(3);
    for _ in 0..100 {
        let (items, capacity, error_rate, expansion) = random.size();
        let spec = Spec { capacity, error_rate, growth: growth(expansion) };
        let Ok(plan) = Plan::new(spec, items) else { continue };
        let fewer = 1 + random.below(items);
        assert_eq!(plan.fp_rate_at(fewer), Plan::new(spec, fewer).expect("a plan").fp_rate());
    }
}

#[test]
fn sizes_above_4_gib_are_right_in_32_bits() {
    let Some(mut page) = Page::open() else { return };
    let items = 10_000_000_000u64;
    assert_eq!(page.plan([1e10, 1e10, 0.001, 2.0]), 1);
    let growth = Growth::Scaling { expansion: 2 };
    let plan = Plan::new(Spec { capacity: items, error_rate: 0.001, growth }, items).unwrap();
    let [bytes, _, bits_per_item, ..] = page.values();
    assert_eq!(bytes, plan.size_bytes() as f64);
    // The theoretical minimum is 14.38 bits.
    assert!(bytes > 14.38 / 8.0 * 1e10 && (14.38..18.0).contains(&bits_per_item), "{bytes}");
}

#[test]
fn every_argument_has_an_answer() {
    let Some(mut page) = Page::open() else { return };
    let odd = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        -1.0,
        0.5,
        1e-300,
        f64::MIN_POSITIVE,
        1e18,
        u32::MAX.into(),
        4_294_967_296.0,
        u64::MAX as f64,
        f64::MAX,
    ];
    let usual = [1e6, 1e5, 0.01, 2.0];
    for place in 0..usual.len() {
        for number in odd {
            let mut size = usual;
            size[place] = number;
            let lasting = page.plan(size);
            page.check_answer(lasting);
            let forgetting = page.plan_forgetting(size, [60.0, 8.0, 1.0]);
            page.check_answer(forgetting);
        }
    }
    for number in odd {
        for place in 0..3 {
            let mut lifetime = [60.0, 8.0, 1.0];
            lifetime[place] = number;
            let count = page.plan_forgetting(usual, lifetime);
            page.check_answer(count);
        }
    }
    assert!(page.plan(usual) > 0);
    for number in odd.into_iter().filter(|number| *number != 0.0) {
        let rate: f64 = page.call("rate_at", number);
        assert!(rate.is_nan(), "{number}: {rate}");
    }
    for number in [Value::ALL.len() as u32, 1 << 31, u32::MAX] {
        assert!(page.call::<_, f64>("value", number).is_nan());
        assert!(page.call::<_, f64>("layer", (0u32, number)).is_nan());
        assert!(page.call::<_, f64>("layer", (number, 0u32)).is_nan());
    }
}

#[test]
fn refusals_name_the_argument() {
    let Some(mut page) = Page::open() else { return };
    let nan = f64::NAN;
    for (size, refusal) in [
        ([nan, 100.0, 0.01, 2.0], Refusal::Items),
        ([1e6, 1.5, 0.01, 2.0], Refusal::Capacity),
        ([1e6, 1e15, 0.01, 2.0], Refusal::Capacity),
        ([1e6, 1e6, nan, 2.0], Refusal::ErrorRate),
        ([1e6, 1e6, 0.0, 2.0], Refusal::ErrorRate),
        ([1e6, 1e6, 0.01, -2.0], Refusal::Expansion),
        ([1e6, 1e6, 0.01, 32_769.0], Refusal::Expansion),
        ([1e6, 1e6, 1e-30, 2.0], Refusal::ErrorRateTooSmall),
        ([1e6, 1.0, 0.01, 1.0], Refusal::TooManyLayers),
        ([1e6, 1e5, 0.01, 0.0], Refusal::Full),
    ] {
        assert_eq!(page.plan(size), refusal as i32, "{size:?}");
    }
    let size = [1e6, 1e6, 0.01, 2.0];
    for (lifetime, refusal) in [
        ([0.5, 8.0, 1.0], Refusal::Window),
        ([1e17, 8.0, 1.0], Refusal::Window),
        ([nan, 8.0, 1.0], Refusal::Window),
        ([60.0, 1.0, 1.0], Refusal::Generations),
        ([60.0, 65.0, 1.0], Refusal::Generations),
        ([60.0, nan, 1.0], Refusal::Generations),
    ] {
        assert_eq!(page.plan_forgetting(size, lifetime), refusal as i32, "{lifetime:?}");
    }
    let many = page.plan_forgetting([1e6, 1e3, 0.01, 1.0], [60.0, 2.0, 1.0]);
    assert_eq!(many, Refusal::TooManyLayers as i32, "overflow layers");
}
