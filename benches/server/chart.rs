//! The chart of the document: how many times the baseline each workload takes.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Result;
use crate::report::Report;
use crate::workloads::{Op, Traffic};

/// Half-way between black and white, so that it is readable on both. The chart has no background.
const TEXT: RGBColor = RGBColor(125, 133, 144);
/// Readable on both backgrounds as well, in the order of the columns.
const COLOURS: [RGBColor; 7] = [
    RGBColor(47, 129, 247),
    RGBColor(111, 176, 190),
    RGBColor(219, 109, 40),
    RGBColor(163, 113, 247),
    RGBColor(45, 164, 78),
    RGBColor(201, 81, 138),
    RGBColor(178, 140, 30),
];

/// Lengths are in pixels.
const WIDTH: i32 = 900;
const LEFT: i32 = 330;
const RIGHT: i32 = 60;
const TOP: i32 = 60;
const BAR: i32 = 11;
const GAP: i32 = 14;

/// One bar: index of the column, multiple of the baseline.
type Bar = (usize, f64);

/// Draws the rows with calls of many items, because large numbers of items are sent in such calls.
///
/// # Errors
///
/// The file cannot be written.
pub fn draw(report: &Report, path: &Path) -> Result<()> {
    let rows = rows(report);
    let bars: usize = rows.iter().map(|(_, bars)| bars.len()).sum();
    let height = TOP + bars as i32 * BAR + rows.len() as i32 * GAP + 10;
    let most = rows.iter().flat_map(|(_, bars)| bars).map(|bar| bar.1).fold(2.0, f64::max);
    // Logarithmic, because the largest multiples are a hundred times the smallest.
    let scale = f64::from(WIDTH - LEFT - RIGHT) / most.ln();
    let x = |multiple: f64| LEFT + (multiple.max(1.0).ln() * scale) as i32;

    let area = SVGBackend::new(path, (WIDTH as u32, height as u32)).into_drawing_area();
    let text = |size: i32, at: HPos| {
        TextStyle::from(("sans-serif", size).into_font())
            .color(&TEXT)
            .pos(Pos::new(at, VPos::Center))
    };
    for multiple in [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0] {
        if multiple <= most {
            let place = x(multiple);
            area.draw(&PathElement::new([(place, TOP - 8), (place, height - 10)], TEXT.mix(0.35)))?;
            area.draw(&Text::new(
                format!("{multiple}"),
                (place, TOP - 16),
                text(15, HPos::Center),
            ))?;
        }
    }
    area.draw(&Text::new("times the baseline", (LEFT - 8, TOP - 16), text(15, HPos::Right)))?;
    let mut place = 10;
    for (column, name) in report.outcome.columns.iter().enumerate().skip(1) {
        area.draw(&Rectangle::new([(place, 12), (place + 12, 24)], colour(column).filled()))?;
        area.draw(&Text::new(name.clone(), (place + 18, 18), text(16, HPos::Left)))?;
        place += 40 + 8 * name.len() as i32;
    }
    let mut y = TOP;
    for (name, bars) in &rows {
        let middle = y + bars.len() as i32 * BAR / 2;
        area.draw(&Text::new(name.clone(), (LEFT - 8, middle), text(16, HPos::Right)))?;
        for &(column, multiple) in bars {
            let end = x(multiple);
            area.draw(&Rectangle::new([(LEFT, y), (end, y + BAR - 2)], colour(column).filled()))?;
            let label = format!("{multiple:.1}");
            area.draw(&Text::new(label, (end + 4, y + BAR / 2), text(13, HPos::Left)))?;
            y += BAR;
        }
        y += GAP;
    }
    area.present()?;
    Ok(())
}

/// Name and bars of each row in the chart.
fn rows(report: &Report) -> Vec<(String, Vec<Bar>)> {
    let mut rows = Vec::new();
    for table in &report.outcome.tables {
        // The text before the colon is short enough for a label.
        let group = table.title.split(':').next().unwrap_or_default();
        for row in &table.rows {
            let is_shown = row.case.batch == 1000
                && row.case.traffic == Traffic::Pipelined
                && row.case.op != Op::Duplicate
                && !group.starts_with("Items of");
            if !is_shown || row.multiple(0).is_none() {
                continue;
            }
            let bar = |column| Some((column, row.multiple(column)?));
            let bars: Vec<Bar> = (1..row.cells.len()).filter_map(bar).collect();
            rows.push((format!("{group}: {}", row.case.name()), bars));
        }
    }
    rows
}

/// The colour of a column; the baseline has none.
fn colour(column: usize) -> RGBColor {
    COLOURS.get((column + COLOURS.len() - 1) % COLOURS.len()).copied().unwrap_or(TEXT)
}
