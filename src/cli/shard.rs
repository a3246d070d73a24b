//! `shard`: computations for the processes of riposte-spark. Users do not need it, so help does not list it.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use super::args::Task;
use crate::task::approach::ImageApproach;
use crate::task::shards;
use crate::task::text_approach::TextApproach;
use crate::task::text_indexes::open_collection;
use crate::trec::TextTask;

#[derive(Subcommand)]
pub(super) enum ShardCommand {
    /// Read a collection, or a part of one from stdin, and print its texts as an index stores them
    Read(ReadTextsArgs),
    /// Print the counts of all terms of a shard in the fields that an approach searches
    Count(CountArgs),
    /// Print the texts of a shard that answer requests
    Answer(AnswerArgs),
}

#[derive(Args)]
pub(super) struct ReadTextsArgs {
    #[arg(long)]
    task: Task,
    /// Collection. By default lines are read from stdin
    #[arg(short, long)]
    input: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct CountArgs {
    #[arg(long)]
    task: Task,
    #[arg(long)]
    approach: String,
    /// Directory with the indexes of the shard
    #[arg(value_name = "DIR")]
    shard: PathBuf,
}

#[derive(Args)]
pub(super) struct AnswerArgs {
    /// Requests, as JSON
    #[arg(long, value_name = "FILE")]
    asked: PathBuf,
    /// Directory with the indexes of the shard
    #[arg(value_name = "DIR")]
    shard: PathBuf,
}

/// `riposte shard`.
pub fn shard(command: &ShardCommand) -> Result<u8> {
    let mut output = BufWriter::new(std::io::stdout().lock());
    match command {
        ShardCommand::Read(args) => {
            let task = text_task(args.task)?;
            let collection = args
                .input
                .as_ref()
                .map(|input| open_collection(task, input));
            shards::read(task, collection.transpose()?.as_ref(), &mut output)?;
        }
        ShardCommand::Count(args) if args.task.text().is_none() => {
            let approach = ImageApproach::find(&args.approach)?;
            shards::count_images(&approach.relevance.analyzer, &args.shard, &mut output)?;
        }
        ShardCommand::Count(args) => {
            let task = text_task(args.task)?;
            let approach = TextApproach::find(task, &args.approach)?;
            shards::count(
                task,
                &approach,
                &args.shard.join(crate::workspace::FILE),
                &mut output,
            )?;
        }
        ShardCommand::Answer(args) => {
            let base = args.shard.join(crate::workspace::FILE);
            shards::answer(&args.asked, &base, &mut output)?;
        }
    }
    output.flush()?;
    Ok(0)
}

fn text_task(task: Task) -> Result<TextTask> {
    match task.text() {
        Some(task) => Ok(task),
        None => bail!("the shards of images are evidence stores"),
    }
}
