//! The part of a page between two markers, which a run replaces.

use crate::Result;

const BEGIN: &str = "<!-- bench-blocking: begin -->\n";
const END: &str = "<!-- bench-blocking: end -->\n";

/// The page before and after the table. The markers belong to the page.
fn split(page: &str) -> Result<(&str, &str)> {
    let missing =
        |marker: &str| format!("the page has not got the line {} exactly once", marker.trim_end());
    for marker in [BEGIN, END] {
        if page.matches(marker).count() != 1 {
            return Err(missing(marker).into());
        }
    }
    let begin = page.find(BEGIN).map(|at| at + BEGIN.len()).unwrap_or_default();
    let end = page.find(END).unwrap_or_default();
    match (page.get(..begin), page.get(end..)) {
        (Some(before), Some(behind)) if begin <= end => Ok((before, behind)),
        _ => Err("the markers of the page stand in the wrong order".into()),
    }
}

/// The page with this table instead of the previous one.
pub fn with_table(page: &str, table: &str) -> Result<String> {
    let (before, behind) = split(page)?;
    Ok(format!("{before}\n{}\n\n{behind}", table.trim()))
}

/// The parts that a run does not change.
pub fn without_table(page: &str) -> Result<(&str, &str)> {
    split(page)
}
