//! Filters of many layers: commands that report or test each layer take longest on these.

use redis::cmd;

use super::Column;
use super::bench::Bench;
use super::filters::{self, Bits, FILTER, Layout, State};
use super::rows::Cells;
use crate::progress::Progress;
use crate::result::Result;
use crate::scale::Scale;
use crate::server::Server;
use crate::sizes::Size;
use crate::workloads::thousands;

/// A filter of layers of one size.
struct Shape {
    layers: u32,
    bytes_per_layer: u64,
    is_filled_too: bool,
}

/// The number of filters.
pub const STEPS: usize = 3;

const TABLE: [Shape; STEPS] = [
    Shape { layers: 600, bytes_per_layer: 1_000_000, is_filled_too: true },
    Shape { layers: 4096, bytes_per_layer: 100_000, is_filled_too: true },
    // Layers of more than 16 MiB would not be read completely, so these filters are not filled.
    Shape { layers: 600, bytes_per_layer: 16_000_000, is_filled_too: false },
];

const SMOKE: [Shape; STEPS] = [
    Shape { layers: 20, bytes_per_layer: 10_000, is_filled_too: true },
    Shape { layers: 4096, bytes_per_layer: 8_000, is_filled_too: true },
    Shape { layers: 3, bytes_per_layer: 1_000_000, is_filled_too: false },
];

/// Measures all of them.
pub fn measure(
    server: &mut Server,
    scale: Scale,
    runs: u32,
    progress: &mut Progress,
) -> Result<Vec<Column>> {
    let shapes = if scale == Scale::Smoke { SMOKE } else { TABLE };
    let bits = Bits::new();
    let mut columns = Vec::new();
    for shape in shapes {
        let size = Size::of_bytes(shape.bytes_per_layer);
        let name = format!("{} × {size}", thousands(shape.layers.into()));
        progress.show("many layers", &name);
        let mut column = Column { name, untouched: Cells::new(), filled: Cells::new() };
        for state in [State::Untouched, State::Filled] {
            if state == State::Filled && !shape.is_filled_too {
                continue;
            }
            make(server, &shape)?;
            let cells = match state {
                State::Untouched => &mut column.untouched,
                State::Filled => {
                    filters::fill(server, FILTER, &bits)?;
                    &mut column.filled
                }
            };
            let mut bench = Bench { server: &mut *server, cells, layout: Layout::Bloomline, runs };
            bench.overview()?;
            bench.items()?;
        }
        cmd("FLUSHALL").exec(&mut server.connection)?;
        columns.push(column);
        progress.step();
    }
    Ok(columns)
}

/// Makes the filter from its header alone. With additions it would take millions of items.
fn make(server: &mut Server, shape: &Shape) -> Result<()> {
    const PROBE: u64 = 10_000;
    load(server, shape.layers, PROBE)?;
    let probe: u64 = filters::layer_bytes(server, FILTER)?.iter().sum();
    let wanted = u64::from(shape.layers) * shape.bytes_per_layer;
    load(server, shape.layers, filters::scaled(PROBE, wanted, probe))
}

/// A filter with this number of layers for `capacity` items each. Later layers have lower error
/// rates and more bytes.
fn load(server: &mut Server, layers: u32, capacity: u64) -> Result<()> {
    cmd("FLUSHALL").exec(&mut server.connection)?;
    let mut reserve = filters::reserve("probe", capacity, Layout::Bloomline);
    reserve.arg("EXPANSION").arg(1).exec(&mut server.connection)?;
    let mut header = filters::header(server, "probe")?;
    // Offset 20 is the number of layers, see docs/format.md.
    header.get_mut(20..24).ok_or("the header is too short")?.copy_from_slice(&layers.to_le_bytes());
    cmd("DEL").arg("probe").exec(&mut server.connection)?;
    Ok(filters::load(FILTER, 1, &header).exec(&mut server.connection)?)
}
