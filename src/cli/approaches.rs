//! `approaches`: lists the systems of the lab and the approaches that rebuild them, and prints recipes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::args::{ApproachesArgs, ApproachesCommand, Task};
use super::{print, terminal};
use crate::task::approaches::{self, About};

/// The systems on the result pages of the lab.
const SYSTEMS: &str = include_str!("../../approaches/systems.toml");

const TASKS: [Task; 4] = [
    Task::Images,
    Task::Controversial,
    Task::Comparative,
    Task::Rank,
];

/// Indentation of the lines below a system or an approach.
const INDENT: usize = 6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Systems {
    #[serde(rename = "leaderboard")]
    leaderboards: Vec<Leaderboard>,
}

/// A result page, or the part of it for one collection.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Leaderboard {
    task: Task,
    year: u32,
    title: String,
    rows: Vec<System>,
}

/// A run on a leaderboard with its official figures.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct System {
    team: String,
    /// The tag of the run.
    run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_topic: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    argumentative: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_stance: Option<f64>,
    /// The name of the approach that rebuilds the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    recipe: Option<String>,
    /// Why there is no such approach.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl System {
    /// The figures with their headings in the table, in the order of its columns.
    fn figures(&self) -> [(&'static str, Option<f64>); 6] {
        [
            ("relevance", self.relevance),
            ("quality", self.quality),
            ("stance F1", self.stance),
            ("on topic", self.on_topic),
            ("argues", self.argumentative),
            ("on stance", self.on_stance),
        ]
    }
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
    let mut systems: Systems = toml::from_str(SYSTEMS)?;
    let mut listed = String::new();
    for task in TASKS {
        if args.task.is_some_and(|only| only != task) {
            continue;
        }
        let approaches = approaches::all(task.text())?;
        let mut leaderboards = Vec::new();
        for leaderboard in &mut systems.leaderboards {
            if leaderboard.task == task {
                only_known(leaderboard, &approaches);
                leaderboards.push(&*leaderboard);
            }
        }
        if args.json {
            write_json(&mut listed, task, &approaches, &leaderboards)?;
        } else {
            write_table(&mut listed, task, &approaches, &leaderboards)?;
        }
    }
    Ok(listed)
}

/// The file of the approach with this name.
fn file(name: &str, task: Option<Task>) -> Result<&'static str> {
    let mut found = Vec::new();
    let mut known = Vec::new();
    for of in TASKS {
        if task.is_none_or(|only| only == of) {
            let all = approaches::all(of.text())?;
            let named = all.iter().find(|about| about.name == name);
            found.extend(named.map(|about| (of, about.text)));
            known.extend(all.into_iter().map(|about| about.name));
        }
    }
    match found[..] {
        [(_, text)] => Ok(text),
        [] => {
            let mut seen = BTreeSet::new();
            known.retain(|name| seen.insert(name.clone()));
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let kind = task.map_or("", |task| approaches::adjective(task.text()));
            Err(approaches::unknown_name(kind, name, &known))
        }
        _ => {
            let tasks: Vec<&str> = found.iter().map(|(task, _)| task.word()).collect();
            bail!(
                "several tasks have an approach named {name}: add --task {}",
                tasks.join(" or --task ")
            )
        }
    }
}

/// A recipe with all keys of the approaches to a task, explained.
fn template(task: Task) -> &'static str {
    match task {
        Task::Images => include_str!("../../approaches/template-images.toml"),
        Task::Controversial => include_str!("../../approaches/template-controversial.toml"),
        Task::Comparative => include_str!("../../approaches/template-comparative.toml"),
        Task::Rank => include_str!("../../approaches/template-rank.toml"),
    }
}

/// Replaces the names of approaches that this version does not have with the reason.
fn only_known(leaderboard: &mut Leaderboard, approaches: &[About]) {
    for system in &mut leaderboard.rows {
        let is_known = |name: &mut String| approaches.iter().any(|about| about.name == *name);
        if let Some(name) = system.recipe.take_if(|name| !is_known(name)) {
            system.why = Some(format!("planned as {name}"));
        }
    }
}

/// The approaches that rebuild none of the systems: riposte's own, and baselines.
fn own<'a>(approaches: &'a [About], leaderboards: &[&Leaderboard]) -> Vec<&'a About> {
    let systems = leaderboards.iter().flat_map(|of| &of.rows);
    let rebuilding: BTreeSet<&str> = systems.filter_map(|row| row.recipe.as_deref()).collect();
    let own = approaches
        .iter()
        .filter(|about| !rebuilding.contains(about.name.as_str()));
    own.collect()
}

/// The approach that rebuilds a system.
fn rebuilds<'a>(approaches: &'a [About], system: &System) -> Option<&'a About> {
    let name = system.recipe.as_ref()?;
    approaches.iter().find(|about| about.name == *name)
}

/// A system, or an approach that rebuilds none, as an object.
#[derive(Serialize)]
struct SystemRow<'a> {
    task: Task,
    #[serde(skip_serializing_if = "Option::is_none")]
    year: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaderboard: Option<&'a str>,
    #[serde(flatten)]
    system: Option<&'a System>,
    /// The approach that rebuilds no system; that of a system is in `system`.
    #[serde(rename = "recipe", skip_serializing_if = "Option::is_none")]
    own: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<&'a str>,
}

/// Writes each approach that rebuilds none of the systems, then each system, as a JSON object on a line.
fn write_json(
    listed: &mut String,
    task: Task,
    approaches: &[About],
    leaderboards: &[&Leaderboard],
) -> Result<()> {
    let unknown = |about: &'_ About| Some(about.unknown.clone()).filter(|text| !text.is_empty());
    let mut write = |line: &SystemRow| -> Result<()> {
        writeln!(listed, "{}", serde_json::to_string(line)?)?;
        Ok(())
    };
    for about in own(approaches, leaderboards) {
        write(&SystemRow {
            task,
            year: None,
            leaderboard: None,
            system: None,
            own: Some(&about.name),
            source: Some(&about.source),
            unknown: unknown(about).as_deref(),
        })?;
    }
    for leaderboard in leaderboards {
        for system in &leaderboard.rows {
            let about = rebuilds(approaches, system);
            write(&SystemRow {
                task,
                year: Some(leaderboard.year),
                leaderboard: Some(&leaderboard.title),
                system: Some(system),
                own: None,
                source: about.map(|about| about.source.as_str()),
                unknown: about.and_then(unknown).as_deref(),
            })?;
        }
    }
    Ok(())
}

/// Writes the approaches that rebuild none of the systems, then a table of the systems of each leaderboard.
fn write_table(
    listed: &mut String,
    task: Task,
    approaches: &[About],
    leaderboards: &[&Leaderboard],
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
        for (heading, value) in leaderboard.rows.iter().flat_map(System::figures) {
            if value.is_some() && !columns.contains(&heading) {
                columns.push(heading);
            }
        }
        let measure = match task {
            Task::Images => "P@10",
            Task::Controversial | Task::Comparative | Task::Rank => "nDCG@5",
        };
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
            for (heading, value) in system.figures() {
                if columns.contains(&heading) {
                    let value = value.map(|value| format!("{value:.3}"));
                    write!(listed, "{:>10}", value.unwrap_or_default())?;
                }
            }
            writeln!(listed, "  {}", system.recipe.as_deref().unwrap_or("–"))?;
            let run = match &system.why {
                Some(why) => format!("{}: {why}", system.run),
                None => system.run.clone(),
            };
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
fn write_about(listed: &mut String, about: &About) {
    listed.push_str(&terminal::wrapped(&about.source, INDENT));
    if !about.unknown.is_empty() {
        let unknown = format!("unpublished or different here: {}", about.unknown);
        listed.push_str(&terminal::wrapped(&unknown, INDENT));
    }
}
