//! Where a command takes a collection or judgements, the name of a data set can be given.

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::Command;
#[cfg(feature = "full")]
use crate::cli::{collection::CollectionCommand, export::ExportCommand, shard::ShardCommand};
use riposte::datasets;

impl Command {
    /// Replaces the names of data sets by the directories and judgements that they mean.
    ///
    /// # Errors
    /// A data set is not here. The message says which command gets it.
    pub(in crate::cli) fn with_datasets(mut self) -> Result<Command> {
        if let Some(input) = self.input() {
            *input = datasets::directory(input)?;
        }
        if let Some(qrels) = self.qrels() {
            let mut meant = Vec::new();
            for word in qrels.iter() {
                meant.extend(datasets::judgements(word)?);
            }
            *qrels = meant;
        }
        #[cfg(feature = "full")]
        if let Command::Export(ExportCommand::Run(args)) = &mut self
            && let Some(word) = &args.qrels
        {
            // image data sets have one file
            args.qrels = datasets::judgements(word)?.into_iter().next();
        }
        Ok(self)
    }

    /// The collection that was typed.
    fn input(&mut self) -> Option<&mut PathBuf> {
        match self {
            #[cfg(feature = "full")]
            Command::Images(args) => Some(&mut args.extraction.input),
            Command::Controversial(args) => Some(&mut args.texts.input),
            Command::Comparative(args) => Some(&mut args.texts.input),
            Command::Rank(args) => Some(&mut args.input),
            #[cfg(feature = "full")]
            Command::Ask(args) => Some(&mut args.input),
            Command::Index(args) => Some(&mut args.input),
            #[cfg(feature = "full")]
            Command::Extract(args) => Some(&mut args.extraction.input),
            #[cfg(feature = "full")]
            Command::Inspect(args) => Some(&mut args.input),
            #[cfg(feature = "full")]
            Command::Collection(CollectionCommand::Check(args)) => Some(&mut args.dir),
            #[cfg(feature = "full")]
            Command::Export(ExportCommand::Evidence(args)) => args.input.as_mut(),
            #[cfg(feature = "full")]
            Command::Shard(ShardCommand::Read(args)) => args.input.as_mut(),
            Command::Verify(args) => args.input.as_mut(),
            _ => None,
        }
    }

    /// The judgements that were typed.
    fn qrels(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Command::Evaluate(args) => Some(&mut args.qrels),
            #[cfg(feature = "full")]
            Command::Inspect(args) => Some(&mut args.qrels),
            _ => None,
        }
    }
}
