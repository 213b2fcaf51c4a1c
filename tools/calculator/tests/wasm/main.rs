//! The WebAssembly of the page docs/calculator, run in an interpreter and compared with `make plan`
//! bit for bit. tests/clients/test_calculator.py runs the page itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod page;

use bloomline_calculator::{Refusal, VALUES};
use bloomline_core::Error;
use bloomline_core::bloom::window::{Window, WindowSpec};
use bloomline_core::host::{Growth, Spec};
use bloomline_reference::random::Random;
use bloomline_tools::bloom::Plan;
use bloomline_tools::compared::RedisBloomPlan;
use bloomline_tools::used::Rounding;

use page::Page;

/// Random sizes with a fixed seed.
struct Sizes(Random);

impl Sizes {
    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
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

/// If this fails, `make calculator` writes the file of the page again.
#[test]
fn plans_equal_those_of_make_plan() {
    let mut page = Page::checked_in();
    let mut random = Sizes(Random::new(1));
    let (mut planned, mut compacted) = (0, 0);
    while planned < 100 {
        let (items, capacity, error_rate, expansion) = random.size();
        let count = page.plan([items as f64, capacity as f64, error_rate, expansion.into()]);
        let spec = Spec { capacity, error_rate, growth: growth(expansion) };
        let Some(plan) = check(&mut page, count, Plan::new(spec, items)) else { continue };
        planned += 1;
        compacted += u32::from(plan.freed_bytes() != 0);
        let after = (plan.size_bytes() - plan.freed_bytes()) as f64;
        let [_, compacted_bytes, .., bytes, layers, least, classic, _] = page.values();
        assert_eq!(compacted_bytes, after, "{}, {items} items", plan.command("key"));
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
    assert!(compacted > 20, "{compacted} of {planned}");
}

#[test]
fn plans_that_forget_equal_those_of_make_plan() {
    let mut page = Page::checked_in();
    let mut random = Sizes(Random::new(2));
    let mut planned = 0;
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
        if check(&mut page, count, Plan::windowed(spec, items)).is_some() {
            planned += 1;
            let [_, compacted, ..] = page.values();
            assert!(compacted.is_nan(), "{compacted}");
        }
    }
}

/// Compares what the page has with a plan, or with the reason why there is none.
fn check(page: &mut Page, count: i32, plan: Result<Plan, Error>) -> Option<Plan> {
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => {
            assert_eq!(count, Refusal::from(error) as i32, "{error}");
            return None;
        }
    };
    let (bytes, layers) = (plan.size_bytes() as f64, plan.layer_count() as f64);
    let expected = [bytes, plan.bits_per_item(), plan.fp_rate(), layers];
    let [bytes, _, bits, rate, layers, generations, .., used] = page.values();
    let case = format!("{}, {} items", plan.command("key"), plan.items());
    assert_eq!([bytes, bits, rate, layers], expected, "{case}");
    assert_eq!(generations, f64::from(plan.generation_count()), "{case}");
    assert_eq!(used, plan.used_bytes(Rounding::Classes) as f64, "{case}");
    page.check_layers(count, plan.in_layers());
    for fewer in [0, 1, plan.items() / 3, plan.items() / 2, plan.items()] {
        assert_eq!(page.rate_at(fewer), plan.fp_rate_at(fewer), "{case}");
    }
    Some(plan)
}

#[test]
fn rates_of_fewer_items_are_those_of_their_own_plans() {
    let mut random = Sizes(Random::new(3));
    for _ in 0..100 {
        let (items, capacity, error_rate, expansion) = random.size();
        let spec = Spec { capacity, error_rate, growth: growth(expansion) };
        let Ok(plan) = Plan::new(spec, items) else { continue };
        let fewer = 1 + random.below(items);
        assert_eq!(plan.fp_rate_at(fewer), Plan::new(spec, fewer).expect("a plan").fp_rate());
    }
}

#[test]
fn every_argument_has_an_answer() {
    let mut page = Page::checked_in();
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
    for number in [VALUES.len() as u32, 1 << 31, u32::MAX] {
        assert!(page.call::<_, f64>("value", number).is_nan());
        assert!(page.call::<_, f64>("layer", (0u32, number)).is_nan());
        assert!(page.call::<_, f64>("layer", (number, 0u32)).is_nan());
    }
}
