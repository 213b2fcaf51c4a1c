//! `make plan`: what it prints is what the documentation shows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[path = "../examples/plan/plan.rs"]
mod plan;

use std::fs;

/// What the program prints for these words.
fn answer(words: &str) -> Result<String, String> {
    let words = words.split_whitespace();
    plan::answer(lexopt::Parser::from_args(words)).map_err(|error| error.to_string())
}

#[test]
fn every_plan_in_the_documentation_is_what_the_program_prints() {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/choosing.md"))
        .expect("docs/choosing.md");
    let mut shown = 0;
    for block in text.split("$ make plan ARGS=\"").skip(1) {
        let (words, rest) = block.split_once("\"\n").expect("a closing quote");
        let (expected, _) = rest.split_once("```").expect("the end of the block");
        assert_eq!(answer(words).expect(words), expected, "{words}");
        shown += 1;
    }
    assert!(shown >= 2, "docs/choosing.md shows {shown} plans");
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_with_a_reason() {
    for (words, reason) in [
        ("", "--items is needed"),
        ("--items many", "many is no number"),
        ("--items 0.5", "0.5 is no number of items"),
        ("--items 10 --error 2", "error rate"),
        ("--items 1e6 --error 1e-20", "error rate"),
        ("--items 1000 --capacity 100 --expansion 0", "full"),
        ("--items 10 --colour red", "--colour"),
    ] {
        let told = answer(words).expect_err(words);
        assert!(told.contains(reason), "{words}: {told}");
    }
    assert!(plan::HELP.lines().count() > 4);
}
