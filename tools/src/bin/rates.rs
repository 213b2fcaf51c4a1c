//! Prints a table of the docs: false-positive rates by formula and as measured.

use bloomline_tools::rates;

fn main() -> Result<(), bloomline_core::Error> {
    print!("{}", rates::layouts()?);
    Ok(())
}
