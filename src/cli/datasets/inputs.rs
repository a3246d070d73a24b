//! Where a command takes a collection or judgements, the name of a data set can be given.

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::Command;
use crate::cli::collection::CollectionCommand;
use crate::cli::export::ExportCommand;
use crate::cli::shard::ShardCommand;
use riposte::datasets;

impl Command {
    /// Replaces the names of data sets by the directories and judgements that they mean.
    ///
    /// # Errors
    /// A data set is not here. The message says which command gets it.
    pub(in crate::cli) fn with_datasets(mut self) -> Result<Command> {
        for input in self.inputs() {
            *input = datasets::directory(input)?;
        }
        if let Some(qrels) = self.qrels() {
            let mut meant = Vec::new();
            for word in qrels.iter() {
                meant.extend(judgements(word)?);
            }
            *qrels = meant;
        }
        // `evaluate QRELS RUN`
        if let Command::Evaluate(args) = &mut self
            && let Some(first) = args.words.first()
            && let Some(meant) = datasets::judgements(first)?
        {
            args.words.remove(0);
            args.qrels.splice(0..0, meant);
        }
        if let Command::Export(ExportCommand::Run(args)) = &mut self
            && let Some(word) = &args.qrels
        {
            // image data sets have one file
            args.qrels = judgements(word)?.into_iter().next();
        }
        Ok(self)
    }

    /// The collections that were typed.
    fn inputs(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Command::Images(args) => with(&mut args.extraction.input, &mut args.arguments),
            Command::Controversial(args) => vec![&mut args.texts.input],
            Command::Comparative(args) => vec![&mut args.texts.input],
            Command::Rank(args) => vec![&mut args.input],
            Command::Ask(args) => with(&mut args.input, &mut args.arguments),
            Command::Serve(args) => args.input.iter_mut().collect(),
            Command::Index(args) => vec![&mut args.input],
            Command::Collection(CollectionCommand::Check(args)) => vec![&mut args.dir],
            Command::Extract(args) => vec![&mut args.extraction.input],
            Command::Inspect(args) => vec![&mut args.input],
            Command::Export(ExportCommand::Evidence(args)) => args.input.iter_mut().collect(),
            Command::Shard(ShardCommand::Read(args)) => args.input.iter_mut().collect(),
            Command::Verify(args) => args.input.iter_mut().collect(),
            _ => Vec::new(),
        }
    }

    /// The judgements that were typed.
    fn qrels(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Command::Evaluate(args) => Some(&mut args.qrels),
            Command::Inspect(args) => Some(&mut args.qrels),
            _ => None,
        }
    }
}

/// A collection, and a second one that can be typed, too.
fn with<'a>(input: &'a mut PathBuf, second: &'a mut Option<PathBuf>) -> Vec<&'a mut PathBuf> {
    std::iter::once(input).chain(second).collect()
}

/// The judgements that a word means.
///
/// # Errors
/// The word is the name of a data set that is not here. The message says which command gets it.
fn judgements(word: &str) -> Result<Vec<String>> {
    let meant = datasets::judgements(word)?;
    Ok(meant.unwrap_or_else(|| vec![word.to_owned()]))
}
