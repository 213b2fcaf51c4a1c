//! Prints the tables of the docs: false-positive rates by formula and as measured.

use bloomline_tools::{generations, rates};

fn main() -> Result<(), bloomline_core::Error> {
    print!("{}\n{}\n", rates::classic(), rates::layouts()?);
    print!("{}\n{}\n", rates::small()?, rates::overfull()?);
    print!("{}\n{}", generations::by_number()?, generations::by_reserve()?);
    Ok(())
}
