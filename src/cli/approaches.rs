//! `approaches`: lists the systems of the lab and the approaches that rebuild them, and prints recipes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Result, bail};
use riposte_eval::TextTask;
use serde_json::{Value, json};

use super::lines::without_nulls;
use super::text_args::{ApproachesArgs, ApproachesCommand};
use super::{print, terminal};
use riposte::collection::task::Task;
use riposte::judge::leaderboards::{Leaderboard, System, leaderboards};
use riposte::recipes::approaches;
use riposte::recipes::approaches::ShippedApproach;

/// Indentation of the lines below a system or an approach.
const INDENT: usize = 6;

/// The headings of the official figures in the table.
const HEADINGS: [&str; System::FIGURES.len()] = [
    "relevance",
    "quality",
    "stance F1",
    "on topic",
    "argues",
    "on stance",
];

/// What is printed below the list.
const MORE: &str = "`riposte approaches show NAME` prints an approach with its whole source and what is unknown of it. `riposte approaches --systems` lists the systems of the lab with their official figures.";

/// The official figures of a system with their headings.
fn figures(system: &System) -> impl Iterator<Item = (&'static str, Option<f64>)> {
    HEADINGS.into_iter().zip(system.figures())
}

/// `riposte approaches`.
pub fn approaches(args: &ApproachesArgs) -> Result<u8> {
    match &args.command {
        Some(ApproachesCommand::Show { name, task }) => print(&file(name, *task)?)?,
        Some(ApproachesCommand::New { task }) => print(&template(*task))?,
        None => print(&list(args)?)?,
    }
    Ok(0)
}

/// The list of systems and approaches that the options select.
fn list(args: &ApproachesArgs) -> Result<String> {
    let mut systems = leaderboards()?;
    let mut listed = String::new();
    for task in Task::ALL {
        if args.task.is_some_and(|only| only != task) {
            continue;
        }
        let approaches = approaches::all(task)?;
        let of_task = systems.extract_if(.., |of| of.task == task);
        let mut leaderboards: Vec<Leaderboard> = of_task.collect();
        for leaderboard in &mut leaderboards {
            only_known(leaderboard, &approaches);
        }
        if args.json {
            write_json(&mut listed, task, &approaches, &leaderboards)?;
        } else if args.systems {
            write_table(&mut listed, task, &approaches, &leaderboards)?;
        } else {
            write_lines(&mut listed, task, &approaches)?;
        }
    }
    if !args.json && !args.systems {
        listed.push('\n');
        listed.push_str(&terminal::wrapped(MORE, 0));
    }
    Ok(listed)
}

/// Writes a line for each approach.
fn write_lines(listed: &mut String, task: Task, approaches: &[ShippedApproach]) -> Result<()> {
    if !listed.is_empty() {
        listed.push('\n');
    }
    let heading = format!("riposte {} --approach NAME", task.word());
    let heading = terminal::painted(&heading, |style| style.bold());
    writeln!(listed, "{heading}")?;
    let names = approaches.iter().map(|about| about.name.chars().count());
    let width = names.max().unwrap_or_default();
    for about in approaches {
        let line = format!("  {:<width$}  {}", about.name, about.source);
        listed.push_str(&terminal::one_line(&line));
    }
    Ok(())
}

/// The file of the approach with this name.
fn file(name: &str, task: Option<Task>) -> Result<&'static str> {
    let mut found = Vec::new();
    let mut known = Vec::new();
    for of in Task::ALL {
        if task.is_none_or(|only| only == of) {
            let all = approaches::all(of)?;
            let named = all.iter().find(|about| about.name == name);
            found.extend(named.map(|about| (of, about.text)));
            known.extend(all.into_iter().map(|about| about.name));
        }
    }
    match found[..] {
        [(_, text)] => Ok(text),
        [] => {
            let mut seen = BTreeSet::new();
            let known = known.iter().map(String::as_str);
            let known: Vec<&str> = known.filter(|name| seen.insert(*name)).collect();
            let kind = task.map_or("", approaches::adjective);
            Err(approaches::unknown_name(kind, name, &known))
        }
        _ => {
            let tasks: Vec<&str> = found.iter().map(|(task, _)| task.word()).collect();
            let tasks = tasks.join(" or --task ");
            bail!("several tasks have an approach named {name}: add --task {tasks}")
        }
    }
}

/// A recipe with all keys of the approaches to a task, explained.
fn template(task: Task) -> &'static str {
    match task {
        Task::Images => include_str!("../../approaches/template-images.toml"),
        Task::Texts(TextTask::Controversial) => {
            include_str!("../../approaches/template-controversial.toml")
        }
        Task::Texts(TextTask::Comparative) => {
            include_str!("../../approaches/template-comparative.toml")
        }
        Task::Texts(TextTask::Rank) => include_str!("../../approaches/template-rank.toml"),
    }
}

/// Replaces the names of approaches that this version does not have with the reason.
fn only_known(leaderboard: &mut Leaderboard, approaches: &[ShippedApproach]) {
    for system in &mut leaderboard.rows {
        let is_known = |name: &mut String| approaches.iter().any(|about| about.name == *name);
        if let Some(name) = system.recipe.take_if(|name| !is_known(name)) {
            system.why = Some(format!("planned as {name}"));
        }
    }
}

/// The approaches that rebuild none of the systems: riposte's own, and baselines.
fn own<'a>(
    approaches: &'a [ShippedApproach],
    leaderboards: &[Leaderboard],
) -> Vec<&'a ShippedApproach> {
    let systems = leaderboards.iter().flat_map(|of| &of.rows);
    let rebuilding: BTreeSet<&str> = systems.filter_map(|row| row.recipe.as_deref()).collect();
    let is_own = |about: &&ShippedApproach| !rebuilding.contains(about.name.as_str());
    approaches.iter().filter(is_own).collect()
}

/// The approach that rebuilds a system.
fn rebuilds<'a>(approaches: &'a [ShippedApproach], system: &System) -> Option<&'a ShippedApproach> {
    let name = system.recipe.as_ref()?;
    approaches.iter().find(|about| about.name == *name)
}

/// A system of a leaderboard and the approach that rebuilds it, or an approach that rebuilds none, as an object.
fn row(
    task: Task,
    system: Option<(&Leaderboard, &System)>,
    about: Option<&ShippedApproach>,
) -> Value {
    let (leaderboard, system) = system.unzip();
    let own = about.filter(|_| system.is_none());
    without_nulls(json!({
        "task": task.word(),
        "year": leaderboard.map(|of| of.year),
        "leaderboard": leaderboard.map(|of| &of.title),
        "team": system.map(|of| &of.team),
        "run": system.map(|of| &of.run),
        "relevance": system.and_then(|of| of.relevance),
        "quality": system.and_then(|of| of.quality),
        "stance": system.and_then(|of| of.stance),
        "on_topic": system.and_then(|of| of.on_topic),
        "argumentative": system.and_then(|of| of.argumentative),
        "on_stance": system.and_then(|of| of.on_stance),
        "recipe": system.and_then(|of| of.recipe.as_ref()).or(own.map(|of| &of.name)),
        "why": system.and_then(|of| of.why.as_ref()),
        "source": about.map(|of| &of.source),
        "unknown": about.map(|of| &of.unknown).filter(|text| !text.is_empty()),
    }))
}

/// Writes each approach that rebuilds none of the systems, then each system, as a JSON object on a line.
fn write_json(
    listed: &mut String,
    task: Task,
    approaches: &[ShippedApproach],
    leaderboards: &[Leaderboard],
) -> Result<()> {
    for about in own(approaches, leaderboards) {
        writeln!(listed, "{}", row(task, None, Some(about)))?;
    }
    for leaderboard in leaderboards {
        for system in &leaderboard.rows {
            let about = rebuilds(approaches, system);
            writeln!(listed, "{}", row(task, Some((leaderboard, system)), about))?;
        }
    }
    Ok(())
}

/// Writes the approaches that rebuild none of the systems, then a table of the systems of each leaderboard.
fn write_table(
    listed: &mut String,
    task: Task,
    approaches: &[ShippedApproach],
    leaderboards: &[Leaderboard],
) -> Result<()> {
    if !listed.is_empty() {
        listed.push('\n');
    }
    writeln!(listed, "riposte {} --approach NAME", task.word())?;
    writeln!(listed, "\n  riposte's own, and baselines")?;
    for about in own(approaches, leaderboards) {
        writeln!(listed, "  {}", about.name)?;
        write_about(listed, about);
    }
    // the source of an approach is printed once, even if it rebuilds several systems
    let mut told = BTreeSet::new();
    for leaderboard in leaderboards {
        let mut columns = Vec::new();
        for (heading, value) in leaderboard.rows.iter().flat_map(figures) {
            if value.is_some() && !columns.contains(&heading) {
                columns.push(heading);
            }
        }
        let is_of_images = task == Task::Images;
        let measure = if is_of_images { "P@10" } else { "nDCG@5" };
        let teams = leaderboard.rows.iter();
        let team = teams.map(|row| row.team.chars().count()).max();
        let team = team.unwrap_or_default().max(measure.len());
        write!(listed, "\n  {}\n  {measure:<team$}", leaderboard.title)?;
        for heading in &columns {
            write!(listed, "{heading:>10}")?;
        }
        listed.push_str("  approach\n");
        for system in &leaderboard.rows {
            write!(listed, "  {:<team$}", system.team)?;
            for (heading, value) in figures(system) {
                if columns.contains(&heading) {
                    let value = value.map(|value| format!("{value:.3}"));
                    write!(listed, "{:>10}", value.unwrap_or_default())?;
                }
            }
            writeln!(listed, "  {}", system.recipe.as_deref().unwrap_or("–"))?;
            let why = system.why.as_ref().map(|why| format!(": {why}"));
            let run = format!("{}{}", system.run, why.unwrap_or_default());
            listed.push_str(&terminal::wrapped(&run, INDENT));
            if let Some(about) = rebuilds(approaches, system)
                && told.insert(&about.name)
            {
                write_about(listed, about);
            }
        }
    }
    Ok(())
}

/// Writes the source of an approach, and what it does not say.
fn write_about(listed: &mut String, about: &ShippedApproach) {
    listed.push_str(&terminal::wrapped(&about.source, INDENT));
    if !about.unknown.is_empty() {
        let unknown = format!("unpublished or different here: {}", about.unknown);
        listed.push_str(&terminal::wrapped(&unknown, INDENT));
    }
}
