//! `subset`: cuts a small valid collection out of a large one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use riposte::collection::images::{ImageCollection, ImageFolder};
use riposte::collection::read_topics;
use riposte_eval::topic::Topic;

use crate::counted;
use crate::files::{new_directory, topics_xml, write};

#[derive(clap::Args)]
pub struct Options {
    /// The collection to cut from
    dir: PathBuf,
    /// Where to write: a new or an empty directory
    out: PathBuf,
    /// Topics to keep, separated by commas (default: all)
    #[arg(long, value_delimiter = ',')]
    topics: Vec<String>,
    /// Number of images to keep
    #[arg(long, default_value_t = 100)]
    images: usize,
    /// Judgements; judged images are kept first (default: DIR/qrels.txt, if it exists)
    #[arg(long)]
    qrels: Option<PathBuf>,
}

/// Writes the subset.
pub fn run(options: &Options) -> Result<()> {
    let collection = ImageCollection::open(&options.dir)?;
    let topics = kept_topics(options)?;
    let numbers: BTreeSet<&str> = topics.iter().map(|topic| topic.id.0.as_str()).collect();
    let default = options.dir.join("qrels.txt");
    let qrels = match &options.qrels {
        Some(path) => read(path)?,
        None if default.exists() => read(&default)?,
        None => String::new(),
    };
    let chosen = choose(&collection, &numbers, &qrels, options.images);
    if chosen.is_empty() {
        bail!(
            "no image of {} belongs to the topics",
            options.dir.display()
        );
    }
    new_directory(&options.out)?;
    write(&options.out.join("topics.xml"), topics_xml(&topics))?;
    for entry in &chosen {
        let place = entry.dir.strip_prefix(&options.dir).unwrap_or(&entry.dir);
        copy(&entry.dir, &options.out.join(place))?;
    }
    let ids: BTreeSet<&str> = chosen.iter().map(|entry| entry.id.0.as_str()).collect();
    let mut kept = String::new();
    for line in qrels.lines() {
        if let Some((topic, image)) = judged(line)
            && numbers.contains(topic)
            && ids.contains(image)
        {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    if !kept.is_empty() {
        write(&options.out.join("qrels.txt"), &kept)?;
    }
    println!(
        "{}: {}, {}, {} of judgements",
        options.out.display(),
        counted(chosen.len(), "image"),
        counted(topics.len(), "topic"),
        counted(kept.lines().count(), "line")
    );
    if chosen.len() < options.images {
        eprintln!(
            "{} requested, but these topics have no more",
            counted(options.images, "image")
        );
    }
    Ok(())
}

/// The topics to keep.
///
/// # Errors
/// The collection lacks one of them.
fn kept_topics(options: &Options) -> Result<Vec<Topic>> {
    let all = read_topics(&options.dir.join("topics.xml"))?;
    if options.topics.is_empty() {
        return Ok(all);
    }
    for wanted in &options.topics {
        if !all.iter().any(|topic| topic.id.0 == *wanted) {
            bail!(
                "there is no topic {wanted} in {}",
                options.dir.join("topics.xml").display()
            );
        }
    }
    Ok(all
        .into_iter()
        .filter(|topic| options.topics.contains(&topic.id.0))
        .collect())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The topic and the image of a line of judgements.
fn judged(line: &str) -> Option<(&str, &str)> {
    let mut fields = line.split_whitespace();
    let topic = fields.next()?;
    Some((topic, fields.nth(1)?))
}

/// Why an image is kept for a topic, from the best reason to the weakest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Judged,
    Found,
    Unrecorded,
}

/// The images to keep. Topics take turns, so that each gets its share. For each topic, judged images come first, then images that a search
/// for the topic found, then images without a recorded search (such as those of `build`), which can belong to any topic. Images with the same
/// reason are taken in the order of their ids; ids are hashes, so the sample is random.
fn choose<'c>(
    collection: &'c ImageCollection,
    topics: &BTreeSet<&str>,
    qrels: &str,
    limit: usize,
) -> Vec<&'c ImageFolder> {
    let mut judged_for: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (topic, image) in qrels.lines().filter_map(judged) {
        judged_for.entry(image).or_default().insert(topic);
    }
    let mut queues: BTreeMap<&str, Vec<(Reason, &ImageFolder)>> =
        topics.iter().map(|&topic| (topic, Vec::new())).collect();
    for entry in &collection.entries {
        let of = judged_for.get(entry.id.0.as_str());
        let mut found_for = None;
        for (topic, queue) in &mut queues {
            if of.is_some_and(|of| of.contains(topic)) {
                queue.push((Reason::Judged, entry));
                continue;
            }
            let found_for = found_for.get_or_insert_with(|| searches(entry));
            if found_for.contains(*topic) {
                queue.push((Reason::Found, entry));
            } else if found_for.is_empty() && of.is_none() {
                queue.push((Reason::Unrecorded, entry));
            }
        }
    }
    let mut queues: Vec<_> = queues
        .into_values()
        .map(|mut queue| {
            queue.sort_by_key(|(reason, _)| *reason);
            queue.into_iter().map(|(_, entry)| entry)
        })
        .collect();
    let mut chosen: BTreeMap<&str, &ImageFolder> = BTreeMap::new();
    while chosen.len() < limit {
        let before = chosen.len();
        for queue in &mut queues {
            let next = queue.find(|entry| !chosen.contains_key(entry.id.0.as_str()));
            if let Some(entry) = next
                && chosen.len() < limit
            {
                chosen.insert(&entry.id.0, entry);
            }
        }
        if chosen.len() == before {
            break;
        }
    }
    chosen.into_values().collect()
}

/// The topics whose searches found the image. Files that cannot be read are skipped here; `check` reports them.
fn searches(entry: &ImageFolder) -> BTreeSet<String> {
    let listing = entry.list(&mut Vec::new());
    listing
        .pages
        .iter()
        .filter_map(|page| fs::read_to_string(page.join("rankings.jsonl")).ok())
        .flat_map(|text| {
            text.lines()
                .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
                .filter_map(|value| match value.get("topic")? {
                    serde_json::Value::String(topic) => Some(topic.trim().to_owned()),
                    topic => Some(topic.to_string()),
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Copies a directory with its contents.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let copying = || format!("cannot copy {} to {}", from.display(), to.display());
    fs::create_dir_all(to).with_context(copying)?;
    for entry in fs::read_dir(from).with_context(copying)? {
        let path = entry.with_context(copying)?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        let target = to.join(name);
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            // bytes without permissions, so that the copy of a read-only collection can be removed
            fs::read(&path)
                .and_then(|bytes| fs::write(&target, bytes))
                .with_context(|| {
                    format!("cannot copy {} to {}", path.display(), target.display())
                })?;
        }
    }
    Ok(())
}
