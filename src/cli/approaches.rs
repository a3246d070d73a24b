//! `approaches`: lists the recipes of each task.

use anyhow::Result;

use super::print;
use crate::task::approach::ImageApproach;
use crate::task::text_approach::TextApproach;
use crate::trec::TextTask;

/// `riposte approaches`.
pub fn approaches() -> Result<u8> {
    for approach in ImageApproach::all()? {
        print_approach("images", &approach.name, &approach.source, "")?;
    }
    for task in [TextTask::Controversial, TextTask::Comparative] {
        for approach in TextApproach::all(task)? {
            let TextApproach {
                name,
                source,
                unknown,
                ..
            } = approach;
            print_approach(task.word(), &name, &source, &unknown)?;
        }
    }
    Ok(0)
}

fn print_approach(task: &str, name: &str, source: &str, unknown: &str) -> Result<()> {
    print(&format_args!("{task:<13}  {name:<21}  {source}\n"))?;
    if !unknown.is_empty() {
        let label = "unpublished or different here";
        print(&format_args!("{:<38}{label}: {unknown}\n", ""))?;
    }
    Ok(())
}
