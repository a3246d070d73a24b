//! `shard`: reads texts for riposte-spark. Users do not need this command, so it is hidden from the help.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};

use super::parse;
use riposte::collection::task::Task;
use riposte::collection::texts::open_collection;
use riposte::ingest::shards;

#[derive(Subcommand)]
pub(super) enum ShardCommand {
    /// Read a collection, or a part of one from stdin, and print its texts as an index stores them
    Read(ReadTextsArgs),
}

#[derive(Args)]
pub(super) struct ReadTextsArgs {
    #[arg(long, value_parser = parse::task())]
    task: Task,
    /// Collection. By default lines are read from stdin
    #[arg(short, long)]
    pub(super) input: Option<PathBuf>,
}

/// `riposte shard`.
pub fn shard(command: &ShardCommand) -> Result<u8> {
    let ShardCommand::Read(ReadTextsArgs { task, input }) = command;
    let task = task.text();
    let task = task.context("the shards of images are evidence stores")?;
    let collection = input.as_ref().map(|input| open_collection(task, input));
    let mut output = BufWriter::new(std::io::stdout().lock());
    shards::read(task, collection.transpose()?.as_ref(), &mut output)?;
    output.flush()?;
    Ok(0)
}
