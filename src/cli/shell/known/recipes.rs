//! The names of approaches.

use anyhow::Result;

use super::Values;
use riposte::collection::task::Task;
use riposte::recipes::approaches;

pub(super) fn values() -> Result<Vec<Values>> {
    let mut named: Vec<(Task, String)> = Vec::new();
    for task in Task::ALL {
        let all = approaches::all(task)?.into_iter();
        named.extend(all.map(|approach| (task, approach.name)));
    }
    let of = |command, arg, is_meant: &dyn Fn(Task) -> bool| Values {
        command: Some(command),
        arg,
        values: (named.iter())
            .filter(|(task, _)| is_meant(*task))
            .map(|(_, name)| name.clone())
            .collect(),
    };
    let by_task = Task::ALL.map(|task| of(task.word(), "approach", &|other| other == task));
    let mut values = Vec::from(by_task);
    values.extend([
        of("ask", "approach", &|_| true),
        of("show", "name", &|_| true),
        of("index", "approach", &|task| task != Task::Images),
    ]);
    Ok(values)
}
