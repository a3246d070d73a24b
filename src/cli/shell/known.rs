//! Values of options that are known only when the program runs.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use riposte_eval::edition::{self, EDITIONS, Edition};

use riposte::collection::task::Task;
use riposte::datasets::DatasetCatalogue;
use riposte::evidence::Channel;
use riposte::judge::reproduce;
use riposte::recipes::approaches;
use riposte::recipes::channels::CHANNELS;
use riposte::weights::Models;

/// Known values of options and arguments.
pub(super) struct Known(Vec<Values>);

/// The known values of an option or argument.
#[derive(Clone)]
struct Values {
    /// The command that has the option; `None` for all commands that have it.
    command: Option<&'static str>,
    arg: &'static str,
    values: BTreeSet<String>,
}

impl Known {
    pub(super) fn read() -> Result<Known> {
        let known = [
            of_editions(),
            of_approaches()?,
            of_datasets()?,
            of_models()?,
        ];
        let tables = Values::of("reproduce", "names", reproduce::names()?);
        Ok(Known([known.concat(), vec![tables]].concat()))
    }

    /// The values for an option or argument of a command; none if only the user knows them.
    pub(super) fn values(&self, command: &str, arg: &str) -> BTreeSet<String> {
        let is_meant =
            |of: &&Values| of.arg == arg && of.command.is_none_or(|only| only == command);
        let found = self.0.iter().find(is_meant);
        found.map(|of| of.values.clone()).unwrap_or_default()
    }
}

impl Values {
    fn of(
        command: impl Into<Option<&'static str>>,
        arg: &'static str,
        values: impl IntoIterator<Item = String>,
    ) -> Values {
        Values {
            command: command.into(),
            arg,
            values: values.into_iter().collect(),
        }
    }
}

fn of_editions() -> Vec<Values> {
    let years = |years: BTreeSet<u32>| years.into_iter().map(|year| year.to_string());
    let ranked = years(edition::years(Edition::all(None)));
    let verified = years(edition::years(EDITIONS.iter()));
    vec![
        Values::of("images", "edition", ranked),
        Values::of("verify", "edition", verified),
    ]
}

fn of_approaches() -> Result<Vec<Values>> {
    let mut named: Vec<(Task, String)> = Vec::new();
    for task in Task::ALL {
        let all = approaches::all(task)?.into_iter();
        named.extend(all.map(|approach| (task, approach.name)));
    }
    let of = |command, arg, is_meant: &dyn Fn(Task) -> bool| {
        let meant = named.iter().filter(|(task, _)| is_meant(*task));
        Values::of(command, arg, meant.map(|(_, name)| name.clone()))
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

fn of_datasets() -> Result<Vec<Values>> {
    let catalogue = DatasetCatalogue::embedded()?;
    let names = || catalogue.entries().iter().map(|of| of.name.clone());
    Ok(vec![
        Values::of("get", "names", names()),
        Values::of("info", "name", names()),
        Values::of("remove", "name", names()),
    ])
}

/// The names of models, also of those that the user has added, and of the channels of evidence.
fn of_models() -> Result<Vec<Values>> {
    // a script without the names of added models is better than none
    let models = Models::at(None).or_else(|_| Models::at(Some(Path::new(""))))?;
    let entries = || models.catalogue().entries().iter();
    let words = entries().flat_map(|of| [of.name.clone(), of.role.to_string()]);
    let with_role = |arg, role: &str| {
        let meant = entries().filter(|of| of.role.word() == role);
        Values::of(None, arg, meant.map(|of| of.name.clone()))
    };
    let channels = CHANNELS.iter().map(|channel| channel.name().to_owned());
    let mut known = vec![
        Values::of("fetch", "names", words.chain(["all".to_owned()])),
        Values::of("remove", "removed", entries().map(|of| of.name.clone())),
        with_role("cross", "cross"),
        Values::of(None, "require", channels),
    ];
    let of_channel =
        |channel: &&dyn Channel| Some(with_role(channel.name(), channel.role()?.word()));
    known.extend(CHANNELS.iter().filter_map(of_channel));
    Ok(known)
}
