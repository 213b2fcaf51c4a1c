//! Prints the tables of the docs: false-positive rates by formula and as measured.

use bloomline_tools::rates;

fn main() -> Result<(), bloomline_core::Error> {
    println!("{}", rates::layouts()?);
    print!("{}", rates::overfull()?);
    Ok(())
}
