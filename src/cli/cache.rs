//! `cache`: lists and removes the contents of the cache directory.

// at worst a list says that it is gone
#![expect(clippy::disallowed_methods)]

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail, ensure};
use clap::{Args, Subcommand};
use indicatif::{HumanBytes, HumanDuration};
use riposte_eval::escaped;
use serde_json::json;

use super::args::CacheArgs;
use super::{print, print_json, shown, terminal};
use riposte::directories::cache_directory;
use riposte::disk;
use riposte::upkeep::cache;
use riposte::upkeep::cache::{CacheContents, CacheEntry, Removal};

#[derive(Subcommand)]
pub(super) enum CacheCommand {
    /// List the entries of the cache: kind, size, time of last use, collection and name
    List(CacheListArgs),
    /// Remove entries from the cache, except those in use by another process and files that are not riposte's
    Clear(ClearArgs),
}

#[derive(Args)]
pub(super) struct CacheListArgs {
    #[command(flatten)]
    cache: CacheArgs,
    /// Print each entry as a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct ClearArgs {
    /// Entries to remove: names that `riposte cache list` prints, names or paths of collections, or kinds (such as "index"). By default all
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    cache: CacheArgs,
    /// Remove only entries that were not used for this time, such as 12h, 30d or 8w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Only print what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Remove without asking
    #[arg(short, long)]
    yes: bool,
    /// Remove entries also on a file system without locks, where riposte cannot know whether another process uses them
    #[arg(long)]
    force: bool,
}

/// A time span such as 30d: a number of hours, days or weeks.
fn age(text: &str) -> Result<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let hours = match text.get(digits.len()..) {
        Some("h") => Some(1),
        Some("d") => Some(24),
        Some("w") => Some(7 * 24),
        _ => None,
    };
    let number: Option<u64> = digits.parse().ok();
    let seconds = number
        .zip(hours)
        .and_then(|(number, hours)| number.checked_mul(hours * 3600));
    match seconds {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => bail!("a time span is a number of hours, days or weeks, such as 12h, 30d or 8w"),
    }
}

/// `riposte cache`. The exit code of `clear` is 1 if something that was to be removed is still there.
pub fn cache(command: &CacheCommand) -> Result<u8> {
    match command {
        CacheCommand::List(args) => list(args),
        CacheCommand::Clear(args) => clear(args),
    }
}

/// The cache directories with their entries: the chosen one, or else the user's cache directory and the one that replaces it if it cannot be
/// written.
fn directories(args: &CacheArgs) -> Result<Vec<(PathBuf, CacheContents)>> {
    let temporary = || disk::existing_private_directory(&std::env::temp_dir(), "riposte");
    let instead = args.dir.is_none().then(temporary).flatten();
    let directories = cache_directory(args.dir.as_deref())
        .into_iter()
        .chain(instead);
    directories
        .map(|dir| cache::list(&dir).map(|listed| (dir, listed)))
        .collect()
}

fn list(args: &CacheListArgs) -> Result<u8> {
    let directories = directories(&args.cache)?;
    let now = SystemTime::now();
    for (dir, listed) in &directories {
        if args.json {
            for entry in &listed.entries {
                print_json(&to_json(entry))?;
            }
            continue;
        }
        let stored = match listed.entries.as_slice() {
            [] => "nothing is stored".to_owned(),
            entries => size(entries).to_string(),
        };
        let dir = dir.to_string_lossy();
        print(&format_args!("{}: {stored}\n", escaped(&dir)))?;
        for entry in &listed.entries {
            print(&format_args!("{}\n", line(entry, now)))?;
        }
        if !listed.others.is_empty() {
            let names = listed.others.join(", ");
            let names = escaped(&names);
            print(&format_args!(
                "  not riposte's, and never removed: {names}\n"
            ))?;
        }
    }
    Ok(0)
}

/// The size of these entries.
fn size(entries: &[CacheEntry]) -> HumanBytes {
    HumanBytes(entries.iter().map(|entry| entry.bytes).sum())
}

/// A line of the table.
fn line(entry: &CacheEntry, now: SystemTime) -> String {
    let age = entry.used.map(|used| now.duration_since(used));
    let used = match age {
        Some(Ok(age)) => format!("{} ago", HumanDuration(age)),
        _ => "just now".to_owned(),
    };
    let collection = match &entry.collection {
        Some(collection) if collection.exists() => format!("{}  ", shown(collection)),
        Some(collection) => format!("{} (gone)  ", shown(collection)),
        None => String::new(),
    };
    let state = if entry.in_use { "  in use" } else { "" };
    let facts = format!(
        "  {:<16} {:>11}  {used:<15}",
        entry.kind.to_string(),
        HumanBytes(entry.bytes).to_string()
    );
    let names = format!("{}{}{state}", escaped(&collection), escaped(&entry.name()));
    let is_long = facts.chars().count() + 2 + names.chars().count() > terminal::width();
    match is_long && terminal::is_terminal() {
        true => format!("{facts}\n{}", terminal::wrapped(&names, 4).trim_end()),
        false => format!("{facts}  {names}"),
    }
}

fn to_json(entry: &CacheEntry) -> serde_json::Value {
    let since_1970 = entry
        .used
        .and_then(|used| used.duration_since(SystemTime::UNIX_EPOCH).ok());
    json!({
        "kind": entry.kind.to_string(),
        "name": entry.name(),
        "path": entry.path,
        "collection": entry.collection,
        "bytes": entry.bytes,
        "used": since_1970.map(|time| time.as_secs()),
        "in_use": entry.in_use,
    })
}

fn clear(args: &ClearArgs) -> Result<u8> {
    let now = SystemTime::now();
    let directories = directories(&args.cache)?.into_iter();
    let mut chosen: Vec<CacheEntry> = directories.flat_map(|(_, listed)| listed.entries).collect();
    // a misspelt name is found before anything is removed
    for name in &args.names {
        ensure!(
            chosen.iter().any(|entry| entry.is_named(name)),
            "nothing in the cache is named {name}: `riposte cache list` prints all names"
        );
    }
    let is_old = |entry: &CacheEntry| match (args.older_than, entry.used) {
        (None, _) => true,
        (Some(age), Some(used)) => now.duration_since(used).is_ok_and(|time| time >= age),
        (Some(_), None) => false,
    };
    chosen.retain(|entry| {
        let is_named = args.names.is_empty() || args.names.iter().any(|n| entry.is_named(n));
        is_named && is_old(entry)
    });
    if chosen.is_empty() {
        say!("nothing to remove");
        return Ok(0);
    }
    let entries = terminal::counted(chosen.len(), "entry", "entries");
    let summary = format!("{entries}, {}", size(&chosen));
    if args.dry_run {
        for entry in &chosen {
            print(&format_args!("{}\n", line(entry, now)))?;
        }
        print(&format_args!("would remove {summary}\n"))?;
        return Ok(0);
    }
    if !args.yes {
        chosen.iter().for_each(|entry| say!("{}", line(entry, now)));
        if !confirm(&format!("Remove {summary}?"))? {
            say!("nothing is removed");
            return Ok(0);
        }
    }
    let (mut removed, mut freed, mut code) = (0, 0, 0);
    for (entry, removal) in cache::clear(&chosen, args.force) {
        let why = match removal {
            Removal::Removed => {
                freed += entry.bytes;
                removed += 1;
                continue;
            }
            Removal::InUse => "in use by another process, so it stays".to_owned(),
            Removal::Unknown => {
                "another process may be using it: this file system has no locks, so it stays unless --force is given".to_owned()
            }
            Removal::Failed(error) => format!("it cannot be removed: {error}"),
        };
        say!("{}: {why}", escaped(&entry.path.to_string_lossy()));
        code = 1;
    }
    let freed = HumanBytes(freed);
    print(&format_args!("removed {removed} entries, {freed}\n"))?;
    Ok(code)
}

/// Asks on the terminal.
///
/// # Errors
/// There is no terminal, or it cannot be read.
fn confirm(question: &str) -> Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        bail!("nothing is removed: there is no terminal to ask on, so give --yes");
    }
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    stdin.read_line(&mut answer)?;
    let answer = answer.trim();
    Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}
