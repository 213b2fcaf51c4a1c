//! The tables of bits per item over the number of generations and over the reserve, for filters
//! that forget.

use bloomline_core::Error;
use bloomline_core::bloomline::Shape;
use bloomline_core::host::{Growth, Spec};
use bloomline_core::window::{Window, WindowSpec};

use crate::windowed::WindowedPlan;

/// Items inside one window.
const ITEMS: u64 = 10_000_000;

/// Bits per item inside one window, by number of generations and error rate: those of a full
/// filter, then the formula `(1 + 1/g) * 1.44 * log2((g + 1) / e)`.
///
/// # Errors
///
/// A number out of range.
pub fn by_number() -> Result<String, Error> {
    const ERROR_RATES: [f64; 4] = [0.1, 0.01, 0.001, 0.0001];
    let mut text = String::from("| g | layers |");
    for error_rate in ERROR_RATES {
        text += &format!(" {error_rate} |");
    }
    text += "\n|---|---|---|---|---|---|\n";
    for generations in [2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64] {
        text += &format!("| {generations} | {} |", generations + 1);
        for error_rate in ERROR_RATES {
            let (growth, window) = (Growth::Scaling { expansion: 2 }, Window::Manual);
            let (capacity, refreshes) = (ITEMS, true);
            let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
            let g = f64::from(generations);
            let formula = (1.0 + 1.0 / g) * ((g + 1.0) / error_rate).log2() / 2f64.ln();
            let bits = WindowedPlan::new(spec, ITEMS)?.bits_per_item();
            text += &format!(" {bits:.2}, {formula:.2} |");
        }
        text += "\n";
    }
    Ok(text)
}

/// Bits per item of regular and of overflow layers, by the part of a generation's budget that is
/// reserved for overflow layers, with 8 generations.
///
/// # Errors
///
/// A number out of range.
pub fn by_reserve() -> Result<String, Error> {
    const GENERATIONS: u64 = 8;
    let mut text = String::from(
        "| reserve | 0.01: regular, all the time | first overflow layer \
         | 0.0001: regular, all the time | first overflow layer |\n|---|---|---|---|---|\n",
    );
    for part in [2u32, 4, 8, 16, 32] {
        let reserve = 1.0 / f64::from(part);
        text += &format!("| 1/{part} |");
        for error_rate in [0.01, 0.0001] {
            let budget = error_rate / (GENERATIONS + 1) as f64;
            let capacity = ITEMS / GENERATIONS;
            let regular = first_layer(capacity, budget * (1.0 - reserve), Growth::Fixed)?;
            let growth = Growth::Scaling { expansion: 2 };
            let overflow = first_layer(2 * capacity, budget * reserve, growth)?;
            // All generations have a regular layer, for the items of the others.
            let all = bits_per_item(&regular) * (GENERATIONS + 1) as f64 / GENERATIONS as f64;
            text += &format!(" {all:.2} | {:.2} |", bits_per_item(&overflow));
        }
        text += "\n";
    }
    Ok(text)
}

fn first_layer(capacity: u64, error_rate: f64, growth: Growth) -> Result<Shape, Error> {
    let spec = Spec { capacity, error_rate, growth };
    spec.layers().next().ok_or(Error::Capacity(capacity))?
}

fn bits_per_item(layer: &Shape) -> f64 {
    layer.geometry().bits() as f64 / layer.capacity() as f64
}
