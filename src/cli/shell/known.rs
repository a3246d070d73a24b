//! Values of options that are known only when the program runs.

mod datasets;
mod models;
mod recipes;
mod reproduce;

use std::collections::BTreeSet;

use anyhow::Result;
use riposte_eval::edition::{self, EDITIONS, Edition};

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
        let years = |years: BTreeSet<u32>| years.iter().map(u32::to_string).collect();
        let of_edition = |command, values| Values {
            command: Some(command),
            arg: "edition",
            values: years(values),
        };
        let known = vec![
            of_edition("images", edition::years(Edition::all(None))),
            of_edition("verify", edition::years(EDITIONS.iter())),
        ];
        let known = [known, recipes::values()?, datasets::values()?].concat();
        let known = [known, models::values()?, reproduce::values()?].concat();
        Ok(Known(known))
    }

    /// The values for an option or argument of a command; none if only the user knows them.
    pub(super) fn values(&self, command: &str, arg: &str) -> BTreeSet<String> {
        let is_meant =
            |of: &&Values| of.arg == arg && of.command.is_none_or(|only| only == command);
        let found = self.0.iter().find(is_meant);
        found.map(|of| of.values.clone()).unwrap_or_default()
    }
}
