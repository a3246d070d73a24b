//! riposte.toml: defaults of options, and fields of the metadata of runs. Typed options override the environment, and the environment overrides
//! this file.

mod contents;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::iter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use etcetera::BaseStrategy;
use riposte_eval::escaped;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::args::{CacheArgs, Quiet, TAG, THREADS};
use super::{parse, print, print_json};
use contents::ConfigContents;
use riposte::collection::read_regular;
use riposte::directories::{CACHE_VARIABLE, MODELS_VARIABLE, cache_directory, models_directory};
use riposte::disk::{hex, regular};
use riposte::files::metadata::{RecordedConfigFile, UserMetadata};

/// The name of the file, in the working directory or in riposte's directory in the user's configuration directory.
const FILE: &str = "riposte.toml";

/// The heading of the options in the help.
const HEADING: &str = "Configuration";

/// The environment variable that names the file.
const VARIABLE: &str = "RIPOSTE_CONFIG";

/// The options that a configuration has defaults for: their names on the command line and in the file, and their environment variables.
const OPTIONS: [(&str, &str); 3] = [
    ("threads", THREADS),
    ("cache", CACHE_VARIABLE),
    ("tag", TAG),
];

/// The options of all commands.
#[derive(Args)]
pub(super) struct ConfigurationArgs {
    /// Configuration file. By default $RIPOSTE_CONFIG, riposte.toml in the working directory, or riposte/riposte.toml in the user's configuration
    /// directory
    #[arg(long, value_name = "FILE", global = true, help_heading = HEADING)]
    config: Option<PathBuf>,
    /// Use no configuration file
    #[arg(long, global = true, conflicts_with = "config", help_heading = HEADING)]
    no_config: bool,
}

/// The options of `riposte config`: those that a configuration has defaults for.
#[derive(Args)]
pub(super) struct ConfigArgs {
    /// Number of threads
    #[arg(long, value_name = "N", env = THREADS, value_parser = parse::threads)]
    threads: Option<usize>,
    #[command(flatten)]
    cache: CacheArgs,
    /// Tag of runs
    #[arg(long, value_name = "TAG", env = TAG, value_parser = parse::tag)]
    tag: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// A configuration that was read.
pub(super) struct Configuration {
    path: PathBuf,
    sha256: String,
    contents: ConfigContents,
}

impl Configuration {
    /// Finds and reads the configuration. `None` if there is none, or with --no-config.
    ///
    /// # Errors
    /// The file cannot be read, or something in it is unknown or wrong.
    pub fn find(args: &ConfigurationArgs) -> Result<Option<Configuration>> {
        if args.no_config {
            return Ok(None);
        }
        let named = std::env::var_os(VARIABLE)
            .filter(|file| !file.is_empty())
            .map(PathBuf::from);
        if let Some(file) = args.config.clone().or(named) {
            return Configuration::read(&file).map(Some);
        }
        let own = etcetera::choose_base_strategy();
        let own = own.map(|own| own.config_dir().join("riposte").join(FILE));
        for file in iter::once(PathBuf::from(FILE)).chain(own) {
            let reading = || format!("cannot use the configuration in {}", file.display());
            if regular::exists(&file).with_context(reading)? {
                return Configuration::read(&file).map(Some);
            }
        }
        Ok(None)
    }

    fn read(path: &Path) -> Result<Configuration> {
        let reading = || format!("cannot use the configuration in {}", path.display());
        let bytes = read_regular(path, riposte::limits::MAX_CONFIG_BYTES).with_context(reading)?;
        let sha256 = hex(&Sha256::digest(&bytes));
        let text = String::from_utf8(bytes).with_context(reading)?;
        let mut contents = ConfigContents::read(&text).with_context(reading)?;
        let cache = contents.cache.map(|cache| absolute(&cache, path));
        contents.cache = cache.transpose().with_context(reading)?;
        Ok(Configuration {
            path: path.to_owned(),
            sha256,
            contents,
        })
    }

    /// The command, with the defaults of the file for each option that it or one of its subcommands has.
    pub fn with_defaults(&self, command: Command) -> Command {
        let defaults = self.options().into_iter();
        let command = defaults.fold(command, |command, (name, value)| {
            if command.get_arguments().any(|arg| arg.get_id() == name) {
                command.mut_arg(name, |arg| arg.default_value(value))
            } else {
                command
            }
        });
        command.mut_subcommands(|subcommand| self.with_defaults(subcommand))
    }

    fn options(&self) -> Vec<(&'static str, OsString)> {
        let of = &self.contents;
        let values = [
            of.threads.map(|threads| threads.to_string().into()),
            of.cache.clone().map(PathBuf::into_os_string),
            of.tag.clone().map(OsString::from),
        ];
        let named = OPTIONS.into_iter().zip(values);
        named
            .filter_map(|((name, _), value)| Some((name, value?)))
            .collect()
    }

    /// The options of the typed command whose values come from the file.
    fn used(&self, command: &ArgMatches) -> BTreeMap<String, String> {
        let options = self.options().into_iter();
        let used = options.filter(|(name, _)| {
            let has_it = matches!(command.try_contains_id(name), Ok(true));
            has_it && command.value_source(name) == Some(ValueSource::DefaultValue)
        });
        used.map(|(name, value)| (name.to_owned(), value.to_string_lossy().into_owned()))
            .collect()
    }

    /// The fields of a run's metadata that come from this configuration. `command` is the typed command.
    pub fn metadata(&self, command: &ArgMatches) -> UserMetadata {
        let name = self.path.file_name().unwrap_or_default();
        let mut options = self.used(command);
        if let Some(cache) = options.get_mut("cache") {
            // the path of a directory could reveal the user
            let name = Path::new(cache).file_name().unwrap_or_default();
            *cache = name.to_string_lossy().into_owned();
        }
        UserMetadata {
            actor: self.contents.actor.clone(),
            implementation: self.contents.implementation.clone(),
            data: self.contents.data.clone(),
            command: Vec::new(),
            file: Some(RecordedConfigFile {
                name: name.to_string_lossy().into_owned(),
                sha256: self.sha256.clone(),
                options,
            }),
        }
    }

    /// Says which values of the configuration are used, unless there are none or with --quiet.
    pub fn announce(&self, command: &ArgMatches) {
        let progress = command.try_get_one::<Quiet>("quiet");
        let others = command.try_get_one::<bool>("quiet");
        // neither is Ok if the command has no --quiet
        let is_said = matches!(progress, Ok(None)) || matches!(others, Ok(Some(false)));
        let used = self.used(command).into_iter();
        let mut uses: Vec<String> = used
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if matches!(command.try_contains_id("no_metadata"), Ok(true)) {
            uses.push("metadata".to_owned());
        }
        if is_said && !uses.is_empty() {
            let said = format!("configuration {}: {}", self.path.display(), uses.join(", "));
            say!("{}", escaped(&said));
        }
    }
}

/// A path in a configuration: relative paths begin at the file's directory, and ~ is the user's home directory.
///
/// # Errors
/// The path is empty, or the user has no home directory.
fn absolute(path: &Path, file: &Path) -> Result<PathBuf> {
    ensure!(!path.as_os_str().is_empty(), "cache is empty");
    if let Ok(inside) = path.strip_prefix("~") {
        return Ok(etcetera::home_dir()?.join(inside));
    }
    let dir = std::path::absolute(file)?;
    match dir.parent() {
        // without dots in the path
        Some(dir) => Ok(dir.join(path).components().collect()),
        None => bail!("{} is in no directory", file.display()),
    }
}

/// `riposte config`: prints the path of the file, and the values in force with their sources.
pub(super) fn config(
    args: &ConfigArgs,
    configuration: Option<&Configuration>,
    command: &ArgMatches,
) -> Result<u8> {
    let file = configuration.map(|found| found.path.display().to_string());
    let used = configuration.map(|found| found.used(command));
    let used = used.unwrap_or_default();
    let cache = cache_directory(args.cache.dir.as_deref());
    let values = [
        args.threads.map(|threads| threads.to_string()),
        cache.map(|dir| dir.display().to_string()),
        args.tag.clone(),
    ];
    let source = |name: &str, variable: &str| match command.value_source(name) {
        Some(ValueSource::CommandLine) => "the command line".to_owned(),
        Some(ValueSource::EnvVariable) => format!("${variable}"),
        _ if used.contains_key(name) => file.clone().unwrap_or_default(),
        _ => "by default".to_owned(),
    };
    let mut rows: Vec<(&str, Option<String>, String)> = OPTIONS
        .into_iter()
        .zip(values)
        .map(|((name, variable), value)| (name, value, source(name, variable)))
        .collect();
    let models = models_directory(None).map(|dir| dir.display().to_string());
    let from = match std::env::var_os(MODELS_VARIABLE) {
        Some(dir) if !dir.is_empty() => format!("${MODELS_VARIABLE}"),
        _ => "by default".to_owned(),
    };
    rows.push(("models", models.ok(), from));
    let metadata = configuration.map(|found| &found.contents);
    let described = metadata.map(|contents| {
        json!({
            "actor": contents.actor,
            "implementation": {"repository": contents.implementation.repository},
            "data": {
                "name": contents.data.name,
                "source": contents.data.source,
                "ir_datasets": contents.data.ir_datasets,
            },
        })
    });
    if args.json {
        let values = rows.into_iter().map(|(name, value, source)| {
            (name.to_owned(), json!({"value": value, "source": source}))
        });
        let values: Map<String, Value> = values.collect();
        print_json(&json!({"file": file, "values": values, "metadata": described}))?;
        return Ok(0);
    }
    let named = file.as_deref().unwrap_or("none");
    print(&format_args!("configuration  {}\n", escaped(named)))?;
    for (name, value, source) in rows {
        let value = value.unwrap_or_else(|| unset(name).to_owned());
        let (value, source) = (escaped(&value), escaped(&source));
        print(&format_args!("{name:<14} {value}  ({source})\n"))?;
    }
    let sections = described.iter().filter_map(Value::as_object).flatten();
    for (section, fields) in sections {
        for (key, value) in fields.as_object().into_iter().flatten() {
            if !value.is_null() {
                let key = format!("{section}.{key}");
                print(&format_args!("{key:<14} {}\n", escaped(&value.to_string())))?;
            }
        }
    }
    Ok(0)
}

/// The meaning of an option without a value.
fn unset(name: &str) -> &'static str {
    match name {
        "threads" => "one per core",
        "tag" => "riposte, or riposte-NAME for the approach NAME, with what options set",
        _ => "unknown",
    }
}
