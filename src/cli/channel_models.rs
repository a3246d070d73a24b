//! The options that name the models of channels. Each channel brings its own.

use std::collections::BTreeMap;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use super::text_args::MODELS;
use riposte::recipes::channels::CHANNELS;

/// The names of the models that were typed, by channel.
#[derive(Clone, Default)]
pub(super) struct ChannelModels(pub BTreeMap<&'static str, String>);

/// The channels that bring an option, each with its help.
fn options() -> impl Iterator<Item = (&'static str, &'static str)> {
    let channels = CHANNELS.iter();
    channels.filter_map(|channel| Some((channel.name(), channel.option()?)))
}

impl Args for ChannelModels {
    fn augment_args(command: Command) -> Command {
        command.args(options().map(|(name, help)| {
            let option = Arg::new(name).long(name).value_name("NAME");
            option.help(help).help_heading(MODELS)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ChannelModels {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = |(name, _)| Some((name, matches.get_one::<String>(name)?.clone()));
        Ok(ChannelModels(options().filter_map(typed).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
