//! Writes what made a run ([`crate::files::metadata`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use riposte_eval::topic::Topic;
use riposte_eval::{TextTask, TopicId};
use serde_json::{Value as Json, json};
use yaml_serde::Value;

use super::resources::Used;
use super::texts::TextRunSettings;
use crate::disk::regular;
use crate::files::metadata::{CollectionMetadata, UserMetadata};
use crate::limits::{MAX_DESCRIBED_TOPICS, MAX_MACHINE_FILE_BYTES};
use crate::texts::{Offsets, TextRankingSettings};
use crate::topic::question::TopicParts;

/// The version of the schema.
const SCHEMA: &str = "1.0";

/// How the offsets are chosen ([`Offsets`]).
const OFFSETS: &str = "The score of a re-ranked document is its fused score, from 0 to 1, plus the offset of its topic. The offset of near-duplicates is \
                       the whole number above the best score of the documents that are not re-ranked (0 if there are none), and that of the others is 1 more.";

/// A run that is described.
#[derive(Clone, Debug, Default)]
pub struct RunDescription {
    pub tag: String,
    /// The task, as the lab calls it.
    pub task: String,
    /// The year of the lab, if it is known.
    pub year: Option<u32>,
    /// The name of the collection, unless the user's configuration gives another.
    pub test_collection: String,
    /// The parts of the topics besides their titles that were used. A run that used any of them is a manual run.
    pub parts: TopicParts,
    pub approach: String,
    /// The publication that describes the approach.
    pub source: String,
    /// What the publication leaves open, and what riposte does differently.
    pub unknown: String,
    /// The recipe, in TOML.
    pub recipe: String,
    /// The settings that were typed, which the recipe has already.
    pub set: Vec<String>,
    /// The number of documents that were searched; 0 if it is not known.
    pub documents: usize,
    pub topics: usize,
    /// The models that were used, each with its checksum or producer.
    pub models: BTreeMap<String, String>,
    /// What was added to the scores of a topic's re-ranked documents.
    pub offsets: BTreeMap<TopicId, Offsets>,
    /// The directory of the collection.
    pub collection: PathBuf,
    /// What making the run took. It differs from run to run; all else is the same for the same command.
    pub resources: Used,
}

/// The metadata of a run, without documents, models and resources.
pub(super) fn described(
    task: TextTask,
    input: &Path,
    topics: &[Topic],
    settings: &TextRunSettings,
) -> RunDescription {
    let TextRankingSettings {
        approach, parts, ..
    } = &settings.ranking;
    let named = input.file_name().unwrap_or_default();
    let (task, test_collection) = match task {
        TextTask::Controversial => (
            "argument retrieval for controversial questions",
            "args.me".to_owned(),
        ),
        TextTask::Comparative => (
            "argument retrieval for comparative questions",
            "Touché 2022, passages for comparative questions".to_owned(),
        ),
        TextTask::Rank => ("text retrieval", named.to_string_lossy().into_owned()),
    };
    RunDescription {
        tag: settings.tag.clone(),
        task: task.to_owned(),
        test_collection,
        parts: *parts,
        approach: approach.name.clone(),
        source: approach.source.clone(),
        unknown: approach.unknown.clone(),
        recipe: approach.text.clone(),
        set: approach.set.clone(),
        topics: topics.len(),
        collection: input.to_owned(),
        ..RunDescription::default()
    }
}

impl RunDescription {
    /// The text of the file.
    ///
    /// # Errors
    /// The recipe is not TOML.
    pub fn write(&self, config: &UserMetadata) -> Result<String> {
        let recipe: toml::Table = toml::from_str(&self.recipe).context("the recipe")?;
        let mut recipe = yaml_serde::to_value(recipe)?;
        if let Value::Mapping(recipe) = &mut recipe {
            // the method has these as fields already
            for key in ["name", "source", "unknown"] {
                recipe.remove(key);
            }
        }
        let parts = self.parts.names();
        let models = self.models.iter();
        let models = models.map(|(name, version)| json!({"name": name, "version": version}));
        let venue = self.year.map(|year| json!({"name": "CLEF", "year": year}));
        let mut actor = config.actor.clone();
        actor.role.get_or_insert_with(|| "experimenter".to_owned());
        let mut whole = json!({
            "schema-version": SCHEMA,
            "run-version": "1.0",
            "tag": self.tag,
            "platform": platform(),
            "research goal": {"description": self.task, "venue": venue},
            "implementation": implementation(config),
            "method": {
                "automatic": parts.is_empty(),
                "name": self.approach,
                "description": self.description(),
                "score ties": "alphabetical order",
                "score offsets": self.offsets(),
                "recipe": "",
                "settings": (!self.set.is_empty()).then_some(&self.set),
                "topic parts": (!parts.is_empty()).then_some(parts),
            },
            "actor": actor,
            "data": {
                "test collection": self.test_collection(config),
                "other": models.collect::<Vec<_>>(),
            },
            "resources": self.resources.to_json(),
        });
        leave_out_nulls(&mut whole);
        let mut whole = yaml_serde::to_value(whole)?;
        // a recipe can have infinite numbers, which JSON lacks
        whole["method"]["recipe"] = recipe;
        let yaml = yaml_serde::to_string(&whole).context("writing YAML")?;
        Ok(format!("# ir_metadata.start\n{yaml}# ir_metadata.end\n"))
    }

    fn description(&self) -> String {
        let approach = &self.approach;
        let source = match self.source.as_str() {
            "" => "a recipe of the user's own".to_owned(),
            source => source.to_owned(),
        };
        let mut description = format!("{approach}: {source}");
        if !self.unknown.is_empty() {
            description += &format!(". Not known, or different here: {}", self.unknown);
        }
        if !self.set.is_empty() {
            description += &format!(". Changed by options: {}", self.set.join(" "));
        }
        description
    }

    /// What was added to scores, by topic; `None` if nothing was. For more topics than a reader looks through, only the rule.
    fn offsets(&self) -> Option<Json> {
        let topics = (self.offsets.len() <= MAX_DESCRIBED_TOPICS).then_some(&self.offsets);
        (!self.offsets.is_empty()).then(|| json!({"rule": OFFSETS, "topics": topics}))
    }

    fn test_collection(&self, config: &UserMetadata) -> Json {
        let CollectionMetadata {
            name,
            source,
            ir_datasets,
        } = &config.data;
        let directory = self.collection.file_name().unwrap_or_default();
        json!({
            "name": name.as_ref().unwrap_or(&self.test_collection),
            "source": source,
            "ir_datasets": ir_datasets,
            "directory": directory.to_string_lossy(),
            "documents": (self.documents > 0).then_some(self.documents),
            "number of topics": self.topics,
        })
    }
}

fn implementation(config: &UserMetadata) -> Json {
    let command = config.command.iter().map(|word| quoted(word));
    json!({
        "executable": {"cmd": command.collect::<Vec<_>>().join(" ")},
        "source": {
            "lang": ["Rust"],
            "repository": config.implementation.repository,
            "commit": option_env!("RIPOSTE_BUILT_FROM"),
        },
        "configuration": config.file,
    })
}

/// Hardware, operating system and libraries, as far as they are known.
fn platform() -> Json {
    let read = |path: &str| {
        regular::read_text(Path::new(path), MAX_MACHINE_FILE_BYTES).unwrap_or_default()
    };
    let memory = value_of(&read("/proc/meminfo"), "MemTotal", ':');
    let kibibytes = memory.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let release = read("/proc/sys/kernel/osrelease");
    let kernel = format!("{} {}", std::env::consts::OS, release.trim());
    let distribution = value_of(&read("/etc/os-release"), "PRETTY_NAME", '=');
    let libraries = option_env!("RIPOSTE_LIBRARIES").unwrap_or_default();
    json!({
        "hardware": {
            "cpu": {
                "architecture": std::env::consts::ARCH,
                "operation mode": format!("{}-bit", usize::BITS),
                "number of cores": std::thread::available_parallelism().map_or(1, usize::from),
                "model": value_of(&read("/proc/cpuinfo"), "model name", ':'),
            },
            "ram": kibibytes.map(|kib| format!("{:.1} GB", kib as f64 / f64::from(1 << 20))),
        },
        "operating system": {
            "kernel": kernel.trim(),
            "distribution": distribution.as_ref().map(|name| name.trim_matches('"')),
        },
        "software": {
            "libraries": {"rust": libraries.split_whitespace().collect::<Vec<_>>()},
            "retrieval toolkit": [concat!("riposte==", env!("CARGO_PKG_VERSION"))],
        },
    })
}

/// Removes the keys of what is not known.
fn leave_out_nulls(value: &mut Json) {
    if let Json::Object(entries) = value {
        entries.retain(|_, value| !value.is_null());
        entries.values_mut().for_each(leave_out_nulls);
    }
}

/// The value of the first line that has this key.
fn value_of(text: &str, key: &str, separator: char) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(separator)?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// A word of a command, quoted as a shell requires.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%$".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::metadata::{Described, RecordedConfigFile};

    fn described(parts: TopicParts) -> RunDescription {
        RunDescription {
            tag: "riposte".to_owned(),
            task: "image retrieval for arguments".to_owned(),
            year: Some(2022),
            test_collection: "Touché 2022, image retrieval for arguments".to_owned(),
            parts,
            approach: "minsc".to_owned(),
            source: "a source: with a colon".to_owned(),
            unknown: String::new(),
            recipe: "name = \"minsc\"\n[relevance.channels]\n\"bm25 main\" = 1.0\n".to_owned(),
            set: Vec::new(),
            documents: 66,
            topics: 6,
            models: BTreeMap::from([("ppocr-v4".to_owned(), "ab12".to_owned())]),
            offsets: BTreeMap::new(),
            collection: PathBuf::from("/data/sample"),
            resources: Used::default(),
        }
    }

    #[test]
    fn the_file_has_all_parts_and_is_read_again() {
        let file = RecordedConfigFile {
            name: "riposte.toml".to_owned(),
            sha256: "ab12".to_owned(),
            options: BTreeMap::from([("threads".to_owned(), "2".to_owned())]),
        };
        let config = UserMetadata {
            actor: toml::from_str("team = \"Jeanne\"").unwrap(),
            implementation: toml::from_str("repository = \"https://example.org/r\"").unwrap(),
            command: ["riposte", "images", "-i", "my data"]
                .map(str::to_owned)
                .to_vec(),
            file: Some(file),
            ..UserMetadata::default()
        };
        let text = described(TopicParts::default()).write(&config).unwrap();
        let read: Value = yaml_serde::from_str(&text).unwrap();
        for part in [
            "platform",
            "research goal",
            "implementation",
            "method",
            "actor",
            "data",
        ] {
            assert!(read.get(part).is_some(), "{part}: {text}");
        }
        assert_eq!(
            read["method"]["recipe"]["relevance"]["channels"]["bm25 main"],
            1.0
        );
        assert_eq!(read["method"]["automatic"], true);
        assert_eq!(
            read["implementation"]["executable"]["cmd"],
            "riposte images -i 'my data'"
        );
        assert_eq!(read["data"]["test collection"]["directory"], "sample");
        let configuration = &read["implementation"]["configuration"];
        assert_eq!(configuration["file"], "riposte.toml");
        assert_eq!(configuration["options"]["threads"], "2");
        assert_eq!(read["actor"]["role"], "experimenter");
        let described = Described::parse(&text).unwrap();
        assert_eq!(described.missing, [""; 0]);
        assert!(!described.is_manual);
    }

    #[test]
    fn a_manual_run_says_so_and_missing_fields_are_named() {
        let parts = TopicParts {
            narrative: true,
            ..TopicParts::default()
        };
        let config = UserMetadata::default();
        let text = described(parts).write(&config).unwrap();
        let found = Described::parse(&text).unwrap();
        assert!(found.is_manual);
        assert_eq!(found.missing, config.missing_for_tira());
        assert_eq!(
            found.missing,
            ["actor.team", "implementation.source.repository"]
        );
        assert!(Described::parse("a: [").is_err());
    }

    #[test]
    fn words_of_a_command_are_quoted_where_a_shell_would_split_them() {
        for (word, said) in [
            ("a-b=c", "a-b=c"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(quoted(word), said);
        }
    }
}
