//! Filters of many layers: commands that report or test each layer take longest on these.

use redis::cmd;

use super::State;
use super::calls::{FILTER, OVERVIEW, items, line, scaled};
use crate::bits::{Bits, layer_bytes, load};
use crate::column::Planned;
use crate::result::Result;
use crate::row::Group;
use crate::scale::Scale;
use crate::server::Server;
use crate::sizes::show;
use crate::workloads::thousands;

/// A filter of layers of one size: their number, the bytes of one on average, and whether the
/// filter is also filled. Layers of more than 16 MiB would not be read completely, so filters with
/// such layers are not filled.
type Shape = (u32, u64, bool);

pub fn groups(scale: Scale) -> Vec<Group> {
    let shapes: [Shape; 3] = match scale {
        Scale::Smoke => [(20, 10_000, true), (4096, 8_000, true), (3, 1_000_000, false)],
        _ => [(600, 1_000_000, true), (4096, 100_000, true), (600, 16_000_000, false)],
    };
    let group = |((layers, bytes, _), state): (Shape, State)| {
        let column = format!("{} × {}", thousands(layers.into()), show(bytes));
        let rows = OVERVIEW.map(line).into_iter().chain(items()).collect();
        Group::new(state.title("layers", &column), Planned::is_own_layout, rows)
            .with(move |server| fill(server, layers, bytes, state))
    };
    let both = |shape| State::BOTH.map(|state| (shape, state));
    let all = shapes.into_iter().flat_map(both);
    all.filter(|((.., is_filled_too), state)| *is_filled_too || !state.is_filled())
        .map(group)
        .collect()
}

fn fill(server: &mut Server, layers: u32, bytes: u64, state: State) -> Result<()> {
    const PROBE: u64 = 10_000;
    make(server, layers, PROBE)?;
    let probe = layer_bytes(server, FILTER)?.iter().sum();
    make(server, layers, scaled(PROBE, u64::from(layers) * bytes, probe))?;
    if state.is_filled() {
        Bits::new(Bits::HALF).fill(server, FILTER)?;
    }
    Ok(())
}

/// A filter with this number of layers for `capacity` items each. Later layers have lower error
/// rates and more bytes. It is made from its header alone: additions would take millions of items.
fn make(server: &mut Server, layers: u32, capacity: u64) -> Result<()> {
    server.run("FLUSHALL")?;
    server.run(&format!("BF.RESERVE probe 0.01 {capacity} EXPANSION 1"))?;
    let mut dump = cmd("BF.SCANDUMP");
    let (_, mut header): (u64, Vec<u8>) = dump.arg("probe").arg(0).query(&mut server.connection)?;
    // Offset 20 is the number of layers, see docs/format.md.
    let field = header.get_mut(20..24).ok_or("the header is too short")?;
    field.copy_from_slice(&layers.to_le_bytes());
    server.run("DEL probe")?;
    Ok(load(FILTER, 1, &header).exec(&mut server.connection)?)
}
