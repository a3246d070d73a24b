//! Finds and reads the approaches to all tasks: those that come with riposte (in `approaches/`), and those in users' own files.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use riposte_eval::TextTask;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::settings::Setting;
use super::{checks, hinted_toml, settings};
use crate::collection::task::Task;
use crate::disk::regular;
use crate::wording::nearest;

/// Maximum size of the file of an approach. Those that come with riposte have a few thousand bytes.
const MAX_RECIPE_BYTES: u64 = 1 << 20;

/// An approach to a task, as its file describes it.
pub(crate) trait ApproachRecipe: DeserializeOwned {
    /// Checks what the types of the recipe leave open, and keeps the text of the file.
    ///
    /// # Errors
    /// A value is impossible, or two of them do not go together.
    fn complete(&mut self, task: Task, text: &str) -> Result<()>;

    /// Keeps the names of the settings that were typed.
    fn keep_settings(&mut self, labels: Vec<String>);
}

/// What the file of an approach that comes with riposte says about itself.
#[derive(Clone, Debug, Deserialize)]
pub struct ShippedApproach {
    pub name: String,
    /// The publication that describes the approach.
    pub source: String,
    /// What the publication does not say, and what riposte does differently.
    #[serde(default)]
    pub unknown: String,
    /// The service whose answers it ranks, instead of a collection.
    pub service: Option<toml::Value>,
    /// `claims` if it makes one list of images for each claim, as in 2024 and 2025.
    pub form: Option<String>,
    /// The text of the file.
    #[serde(skip)]
    pub text: &'static str,
}

/// The approaches to a task that come with riposte, the default first.
///
/// # Errors
/// A file is damaged, which is a defect of the program.
pub fn all(task: Task) -> Result<Vec<ShippedApproach>> {
    let files = files(task).iter();
    let about = files.map(|text| -> Result<ShippedApproach> {
        Ok(ShippedApproach {
            text,
            ..toml::from_str(text)?
        })
    });
    about.collect()
}

/// Finds an approach to a task by its name, and changes it by settings. A name that ends in `.toml` is the path of a file with the approach.
///
/// # Errors
/// There is no such approach (the message names a similar one or lists all), the file is not an approach, or a setting is wrong (the message names its
/// option).
pub(crate) fn find<A: ApproachRecipe>(task: Task, name: &str, settings: &[Setting]) -> Result<A> {
    if name.ends_with(".toml") {
        let text = regular::read_text(Path::new(name), MAX_RECIPE_BYTES)
            .with_context(|| format!("cannot read the approach in {name}"))?;
        let approach = parse(task, &text).with_context(|| format!("{name} is not an approach"))?;
        return with_settings(approach, task, &text, settings);
    }
    let all = all(task)?;
    match all.iter().find(|about| about.name == name) {
        Some(about) => with_settings(parse(task, about.text)?, task, about.text, settings),
        None => {
            let names: Vec<&str> = all.iter().map(|about| about.name.as_str()).collect();
            Err(unknown_name(adjective(task), name, &names))
        }
    }
}

/// The approach, or the one that its text describes with settings.
fn with_settings<A: ApproachRecipe>(
    approach: A,
    task: Task,
    text: &str,
    settings: &[Setting],
) -> Result<A> {
    if settings.is_empty() {
        return Ok(approach);
    }
    let mut approach: A = settings::read_with(text, settings, |text| {
        let mut approach: A = hinted_toml::read_unplaced(text)?;
        check(&mut approach, task, text)?;
        Ok(approach)
    })?;
    approach.keep_settings(settings::labels(settings));
    Ok(approach)
}

/// Reads the file of an approach.
///
/// # Errors
/// The text is not a recipe for this task. The error names the line.
pub(crate) fn parse<A: ApproachRecipe>(task: Task, text: &str) -> Result<A> {
    let mut approach: A = hinted_toml::read(text)?;
    let checked = check(&mut approach, task, text);
    checked.map_err(|error| checks::located(text, error))?;
    Ok(approach)
}

/// Checks what the types of a recipe leave open.
fn check<A: ApproachRecipe>(approach: &mut A, task: Task, text: &str) -> Result<()> {
    checks::check_numbers(text)?;
    approach.complete(task, text)
}

/// The adjective with which messages name the approaches to a task ("image").
pub fn adjective(task: Task) -> &'static str {
    task.text().map_or("image", TextTask::word)
}

/// The error for a name that no approach has. `kind` is a word for the approaches in question ("image"), or empty.
pub fn unknown_name(kind: &str, name: &str, known: &[&str]) -> anyhow::Error {
    let space = if kind.is_empty() { "" } else { " " };
    match nearest(name, known) {
        Some(near) => anyhow!(
            "there is no {kind}{space}approach named {name}: did you mean {near}? (riposte approaches lists all)"
        ),
        None => anyhow!(
            "there is no {kind}{space}approach named {name}: choose one of {}, or a file that ends in .toml",
            known.join(", ")
        ),
    }
}

/// Includes the texts of files in a directory of `approaches/`. The arguments are the name of the directory and the names of the files.
macro_rules! files {
    ($directory:literal $($name:literal)*) => {
        &[$(include_str!(concat!("../../approaches/", $directory, "/", $name, ".toml"))),*]
    };
}

/// The texts of the approaches that come with riposte, the default first.
fn files(task: Task) -> &'static [&'static str] {
    match task {
        Task::Images => files! {
            "images"
            "riposte" "minsc" "boromir-afinn" "boromir-query" "boromir-bert" "aramis"
            "boromir-clusters" "boromir-afinn-clusters" "boromir-afinn-clusters-only" "jester"
            "aramis-neural" "aramis-neural-stance" "aramis-neural-both" "jean-luc-picard"
            "jean-luc-picard-text" "jean-luc-picard-image-text" "jean-luc-picard-both-texts"
            "riposte-claims" "claims-caption" "claims-clip" "claims-text" "claims-page"
        },
        Task::Texts(TextTask::Controversial) => files! {
            "controversial"
            "riposte" "riposte-dense" "bm25" "dirichlet" "elrond" "elrond-simple" "elrond-pos"
            "pippin-took" "robin-hood" "robin-hood-use" "skeletor" "skeletor-manifold" "shanks"
            "heimdall" "heimdall-quality" "athos" "goemon-ishikawa" "jean-pierre-polnareff"
            "swordsman" "yeagerists" "hua-mulan" "robin-hood-baseline" "robin-hood-rm3"
            "macbeth" "blade" "blade-dirichlet" "deadpool" "little-foot" "gandalf"
            "oscar-francois-de-jarjayes" "dread-pirate-roberts" "dread-pirate-roberts-small"
        },
        Task::Texts(TextTask::Comparative) => files! {
            "comparative"
            "riposte" "bm25" "dirichlet" "aldo-nadi" "aldo-nadi-quality" "puss-in-boots"
            "grimjack" "captain-tempesta" "aldo-nadi-rrf" "aldo-nadi-rrf-quality"
            "olivier-armstrong" "captain-levi" "captain-levi-dense" "chatnoir"
        },
        Task::Texts(TextTask::Rank) => files! {
            "rank"
            "riposte" "bm25" "bm25-flat" "bm25-rm3" "dirichlet" "dph" "dense"
        },
    }
}
