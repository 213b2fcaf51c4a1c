//! Prints the tables of `docs/rates.md`: rates of false positives by formula and as measured.

mod tables;

fn main() -> Result<(), bloomline_core::Error> {
    print!("{}\n{}\n", tables::classic(), tables::layouts()?);
    print!("{}\n{}", tables::small()?, tables::overfull()?);
    Ok(())
}
