//! Bytes per item, beside what theory requires, and the measured false-positive rate.

use super::{Plan, send_items, size_of};
use crate::column::{Column, Planned};
use crate::items::Item;
use crate::result::Result;
use crate::row::{Figures, Group, Row};
use crate::server::Server;
use crate::workloads::{GENERATIONS, thousands};

pub fn group(plan: Plan) -> Group {
    let million = plan.size(1_000_000, 200_000, 10_000);
    let filters = [
        (0.01, "NONSCALING", format!("{million} NONSCALING")),
        (0.001, "NONSCALING", format!("{million} NONSCALING")),
        (0.0001, "NONSCALING", format!("{million} NONSCALING")),
        (0.01, "may grow", format!("{million} EXPANSION 2")),
        (0.01, "from 100", "100 EXPANSION 2".to_owned()),
        (0.01, "100 layers", format!("{} EXPANSION 1", million / 100)),
    ];
    let named =
        |error: f64, how: &str| format!("{} at {} %, {how}", thousands(million), error * 100.0);
    let row = |(error, how, arguments): (f64, &str, String)| {
        Row::of(named(error, how), move |server, _| {
            server.run(&format!("BF.RESERVE filter {error} {arguments}"))?;
            send_items(server, "BF.MADD", plan.kind, (0..million).map(Item::Stored))?;
            figures(server, plan, error, million)
        })
    };
    let windowed = format!("GENERATIONS {GENERATIONS}");
    let windowed_row = |error| {
        let reserve = format!("BF.RESERVE filter {error} {million} {windowed}");
        let row = Row::of(named(error, &windowed), move |server, _| {
            server.run(&reserve)?;
            // All generations are filled. The filter is rotated by hand, because the bench cannot
            // wait for a window to pass.
            let part = million / GENERATIONS;
            for number in 0..=GENERATIONS {
                if number > 0 {
                    server.run("BF.ROTATE filter")?;
                }
                let items = (number * part..(number + 1) * part).map(Item::Stored);
                send_items(server, "BF.MADD", plan.kind, items)?;
            }
            figures(server, plan, error, million)
        });
        row.only_on(Column::has_windows)
    };
    let rows = filters.into_iter().map(row).chain([0.01, 0.001].map(windowed_row)).collect();
    Group {
        heads: &[
            ("bytes per item", 3),
            ("bits per item", 2),
            ("log2(1/e)", 2),
            ("1.44 log2(1/e)", 2),
            ("target %", 3),
            ("measured %", 3),
        ],
        ..Group::new("Bytes per item, and the false-positive rate", Planned::is_module, rows)
    }
}

/// The figures of the filter with a million items, which is deleted.
fn figures(server: &mut Server, plan: Plan, error: f64, million: u64) -> Result<Figures> {
    let absent = plan.size(10_000_000, 1_000_000, 10_000);
    let seen = send_items(server, "BF.MEXISTS", plan.kind, (0..absent).map(Item::Absent))?;
    let bytes = size_of(server, "filter")? as f64 / million as f64;
    server.run("DEL filter")?;
    let least = (1.0_f64 / error).log2();
    let classic = least / std::f64::consts::LN_2;
    let measured = seen as f64 / absent as f64;
    Ok(vec![bytes, bytes * 8.0, least, classic, error * 100.0, measured * 100.0])
}
