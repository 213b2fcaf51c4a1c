//! `make plan`: what a filter will take, before it is made.

mod plan;

use std::error::Error;
use std::process::ExitCode;

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
