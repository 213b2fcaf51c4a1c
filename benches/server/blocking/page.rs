//! The part of a page between two markers, which a run replaces. A page may have several.

use crate::result::Result;

/// The page before and after the table. The markers, which have a name, belong to the page.
fn split<'a>(page: &'a str, name: &str) -> Result<(&'a str, &'a str)> {
    let begin_line = format!("<!-- {name}: begin -->\n");
    let end_line = format!("<!-- {name}: end -->\n");
    let missing =
        |marker: &str| format!("the page has not got the line {} exactly once", marker.trim_end());
    for marker in [&begin_line, &end_line] {
        if page.matches(marker).count() != 1 {
            return Err(missing(marker).into());
        }
    }
    let begin = page.find(&begin_line).map(|at| at + begin_line.len()).unwrap_or_default();
    let end = page.find(&end_line).unwrap_or_default();
    match (page.get(..begin), page.get(end..)) {
        (Some(before), Some(behind)) if begin <= end => Ok((before, behind)),
        _ => Err("the markers of the page stand in the wrong order".into()),
    }
}

/// The page with this table instead of the previous one.
pub fn with_table(page: &str, name: &str, table: &str) -> Result<String> {
    let (before, behind) = split(page, name)?;
    Ok(format!("{before}\n{}\n\n{behind}", table.trim()))
}

/// The parts that a run does not change.
pub fn without_table<'a>(page: &'a str, name: &str) -> Result<(&'a str, &'a str)> {
    split(page, name)
}
