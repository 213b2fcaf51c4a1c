//! Prints calls of the calculator and what it answers on this machine, for the test of its wasm32
//! build. Each line is a JSON array: the function, its arguments, and its results.

use bloomline_calculator::{plan, plan_window, result};

const LEN: usize = 5;

fn print(name: &str, arguments: &[f64], written: i32) {
    // SAFETY: the array has that many elements, and no other call is running.
    let results: [f64; LEN] = unsafe { result().cast::<[f64; LEN]>().read() };
    let results = if written < 0 { &[][..] } else { &results };
    println!("[{name:?}, {arguments:?}, {results:?}]");
}

fn main() {
    let mut seed = 1u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for index in 0..120 {
        // Up to 10^10 items, spread over the orders of magnitude.
        let mut size =
            || (10f64.powi(random(10) as i32 + 1) * (1.0 + random(90) as f64 / 10.0)).floor();
        let (capacity, items) = (size(), size());
        let error_rate = 0.25f64.powi(random(12) as i32 + 1);
        let expansion = random(5) as f64;
        if index % 2 == 0 {
            let arguments = [capacity, error_rate, expansion, items];
            print("plan", &arguments, plan(capacity, error_rate, expansion, items));
        } else {
            let seconds = match random(3) {
                0 => -1.0,
                1 => 0.0,
                _ => 3600.0,
            };
            let (generations, refreshes) = (random(15) as f64, random(2) as i32);
            let arguments = [
                capacity,
                error_rate,
                expansion,
                seconds,
                generations,
                f64::from(refreshes),
                items,
            ];
            let written = plan_window(
                capacity,
                error_rate,
                expansion,
                seconds,
                generations,
                refreshes,
                items,
            );
            print("plan_window", &arguments, written);
        }
    }
    for bad in [-1.0, 0.5, 1e300] {
        print("plan", &[bad, 0.01, 2.0, 10.0], plan(bad, 0.01, 2.0, 10.0));
        print("plan", &[100.0, bad, 2.0, 10.0], plan(100.0, bad, 2.0, 10.0));
    }
}
