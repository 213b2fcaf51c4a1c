//! `make plan`: the layers and bytes of a filter before it is created.

use std::error::Error;
use std::process::ExitCode;

use bloomline_tools::plan;

fn main() -> ExitCode {
    match run() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("plan: {error}\n\n{}", plan::HELP);
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, Box<dyn Error>> {
    plan::answer(lexopt::Parser::from_env())
}
