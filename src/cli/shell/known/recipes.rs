//! The names of approaches.

use anyhow::Result;
use clap::ValueEnum;

use super::Values;
use crate::cli::args::Task;
use riposte::recipes::approaches;

pub(super) fn values() -> Result<Vec<Values>> {
    let mut named: Vec<(Task, String)> = Vec::new();
    for task in Task::value_variants() {
        let all = approaches::all(task.text())?.into_iter();
        named.extend(all.map(|approach| (*task, approach.name)));
    }
    let of = |command, arg, is_meant: &dyn Fn(Task) -> bool| Values {
        command: Some(command),
        arg,
        values: (named.iter())
            .filter(|(task, _)| is_meant(*task))
            .map(|(_, name)| name.clone())
            .collect(),
    };
    let tasks = Task::value_variants().iter();
    let mut values: Vec<Values> = tasks
        .map(|task| of(task.word(), "approach", &|other| other == *task))
        .collect();
    values.extend([
        of("ask", "approach", &|_| true),
        of("show", "name", &|_| true),
        of("index", "approach", &|task| task != Task::Images),
    ]);
    Ok(values)
}
