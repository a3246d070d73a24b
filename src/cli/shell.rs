//! `completions` and `man`: scripts for shells and manual pages. The program writes them itself, so that they agree with it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Args, Command, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::print;
use crate::task::approaches;
use crate::task::channels::CHANNELS;
use crate::task::files::write_atomically;
use crate::trec::TextTask;
use crate::trec::edition::{self, EDITIONS, Edition};
use crate::weights::{Models, Role};

#[derive(Args)]
pub(super) struct CompletionsArgs {
    /// Shell that reads the script
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

#[derive(Args)]
pub(super) struct ManArgs {
    /// Directory for riposte.1 and a page for each command, created if necessary. Without a directory, riposte(1) is printed
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// `riposte completions`: prints a script that completes commands, options and values in a shell.
pub(super) fn completions(args: &CompletionsArgs, command: Command) -> Result<u8> {
    let mut command = with_suggestions(visible(&command), &Words::read()?);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "riposte", &mut script);
    let mut script = String::from_utf8(script).context("a script of completions")?;
    // the generator for bash also offers hidden options
    for option in hidden(&command) {
        script = script.replace(&format!(" --{option} "), " ");
    }
    print(&script)?;
    Ok(0)
}

/// The command without hidden subcommands, which the generators would offer.
fn visible(command: &Command) -> Command {
    let subcommands = command.get_subcommands().filter(|c| !c.is_hide_set());
    Command::new("riposte")
        .args(command.get_arguments().cloned())
        .subcommands(subcommands.cloned())
}

/// The hidden options of a command and its subcommands.
fn hidden(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter(|arg| arg.is_hide_set());
    let own = own.filter_map(|arg| arg.get_long().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(hidden))
        .collect()
}

/// Values of options that are known only when the program runs.
struct Words {
    images: Vec<String>,
    controversial: Vec<String>,
    comparative: Vec<String>,
    rank: Vec<String>,
    models: Vec<(String, Role)>,
}

impl Words {
    fn read() -> Result<Words> {
        let named = |task| -> Result<Vec<String>> {
            let all = approaches::all(task)?.into_iter();
            Ok(all.map(|approach| approach.name).collect())
        };
        let catalogue = Models::at(Some(Path::new("")))?;
        let models = catalogue.catalogue().entries().iter();
        Ok(Words {
            images: named(None)?,
            controversial: named(Some(TextTask::Controversial))?,
            comparative: named(Some(TextTask::Comparative))?,
            rank: named(Some(TextTask::Rank))?,
            models: models
                .map(|model| (model.name.clone(), model.role))
                .collect(),
        })
    }

    /// The values for an option or argument of a command; none if only the user knows them.
    fn of(&self, command: &str, arg: &str) -> Vec<String> {
        let texts = || [&self.controversial, &self.comparative, &self.rank];
        let models = |role: Role| {
            let of_role = self.models.iter().filter(move |model| model.1 == role);
            of_role.map(|model| model.0.clone()).collect()
        };
        let years = |years: BTreeSet<u32>| years.iter().map(u32::to_string).collect();
        match (command, arg) {
            ("images", "approach") => self.images.clone(),
            ("ask", "approach") => unique(texts().into_iter().flatten().chain(&self.images)),
            ("controversial", "approach") => self.controversial.clone(),
            ("comparative", "approach") => self.comparative.clone(),
            ("rank", "approach") => self.rank.clone(),
            ("index", "approach") => unique(texts().into_iter().flatten()),
            ("show", "name") => unique(texts().into_iter().flatten().chain(&self.images)),
            ("fetch", "names") => {
                let roles: Vec<String> = self.models.iter().map(|m| m.1.to_string()).collect();
                let names = self.models.iter().map(|model| &model.0);
                unique(names.chain(&roles).chain(&["all".to_owned()]))
            }
            (_, "ocr") => models(Role::Ocr),
            (_, "clip") => models(Role::Clip),
            (_, "require") => CHANNELS.iter().map(|c| c.name().to_owned()).collect(),
            ("images", "edition") => years(edition::years(Edition::all(None))),
            ("verify", "edition") => years(edition::years(EDITIONS.iter())),
            _ => Vec::new(),
        }
    }
}

fn unique<'w>(words: impl Iterator<Item = &'w String>) -> Vec<String> {
    let unique: BTreeSet<&String> = words.collect();
    unique.into_iter().cloned().collect()
}

/// The command for generators of completions. It must not parse: it would refuse values that it does not complete, such as the file of an approach.
fn with_suggestions(command: Command, words: &Words) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|arg| {
        let known = words.of(&name, arg.get_id().as_str());
        let hint = match arg.get_value_names() {
            Some([only]) if only == "DIR" => ValueHint::DirPath,
            Some([only]) if only.contains("FILE") => ValueHint::FilePath,
            _ => arg.get_value_hint(),
        };
        if known.is_empty() {
            arg.value_hint(hint)
        } else {
            arg.value_parser(PossibleValuesParser::new(known))
        }
    });
    command.mut_subcommands(|subcommand| with_suggestions(subcommand, words))
}

/// `riposte man`: writes the manual pages, or prints that of riposte itself.
pub(super) fn man(args: &ManArgs, command: Command) -> Result<u8> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let Some(dir) = &args.dir else {
        let page = page(&command)?;
        print(&String::from_utf8_lossy(&page))?;
        return Ok(0);
    };
    std::fs::create_dir_all(dir)
        .with_context(|| format!("cannot create the directory {}", dir.display()))?;
    let count = write_pages(&command, dir)?;
    say!("{count} manual pages in {}", dir.display());
    Ok(0)
}

fn write_pages(command: &Command, dir: &Path) -> Result<usize> {
    let file = dir.join(format!("{}.1", page_name(command)));
    write_atomically(&file, &page(command)?)?;
    let mut count = 1;
    for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        count += write_pages(subcommand, dir)?;
    }
    Ok(count)
}

/// The name of a command's page: riposte-models-fetch.
fn page_name(command: &Command) -> String {
    let name = command.get_display_name();
    name.unwrap_or_else(|| command.get_name()).to_owned()
}

/// A manual page.
fn page(command: &Command) -> Result<Vec<u8>> {
    let name = page_name(command);
    let version = env!("CARGO_PKG_VERSION");
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        let mut section = Roff::new();
        section.control("SH", ["COMMANDS"]);
        for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            section.control("TP", []);
            section.text([bold(page_name(subcommand)), roman("(1)")]);
            let about = subcommand.get_about().map(ToString::to_string);
            section.text([roman(about.unwrap_or_default())]);
        }
        section.to_writer(&mut page)?;
    }
    if !command.has_subcommands() || command.get_name() == "riposte" {
        list(&mut page, "EXIT STATUS", &exit_status(command.get_name()))?;
    }
    list(&mut page, "ENVIRONMENT", &ENVIRONMENT)?;
    list(&mut page, "FILES", &FILES)?;
    let examples = EXAMPLES.iter().filter(|(of, _, _)| *of == name);
    let mut section = Roff::new();
    for (n, (_, what, line)) in examples.enumerate() {
        if n == 0 {
            section.control("SH", ["EXAMPLES"]);
        }
        section.control("TP", []);
        section.text([roman(*what)]);
        section.text([bold(*line)]);
    }
    section.to_writer(&mut page)?;
    see_also(command, &name, &mut page)?;
    let title = name.to_uppercase().replace('-', "\\-");
    let head = format!("{PREAMBLE}.TH \"{title}\" 1 \"\" \"riposte {version}\" \"riposte\"\n");
    let page = String::from_utf8(page).context("a manual page")?;
    // the generator repeats its preamble before each section, and mandoc warns of its line break after possible values
    let page = page
        .replace(PREAMBLE, "")
        .replace("\n.br\n\n.br\n", "\n.sp\n");
    Ok((head + &page).into_bytes())
}

/// The preamble of the generator. It defines an apostrophe that stays one when it is copied.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// Writes a section of terms with their descriptions.
fn list(page: &mut Vec<u8>, title: &str, entries: &[(&str, &str)]) -> Result<()> {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for (term, description) in entries {
        section.control("TP", []);
        section.text([bold(*term)]);
        section.text([roman(*description)]);
    }
    Ok(section.to_writer(page)?)
}

fn see_also(command: &Command, name: &str, page: &mut Vec<u8>) -> Result<()> {
    let mut others: Vec<String> = command
        .get_subcommands()
        .filter(|c| !c.is_hide_set())
        .map(page_name)
        .collect();
    if let Some((parent, _)) = name.rsplit_once('-') {
        others.insert(0, parent.to_owned());
    }
    let mut section = Roff::new();
    section.control("SH", ["SEE ALSO"]);
    let mut line: Vec<Inline> = Vec::new();
    for (n, other) in others.iter().enumerate() {
        let after = if n + 1 < others.len() { "(1), " } else { "(1)" };
        line.extend([bold(other.as_str()), roman(after)]);
    }
    section.text(line);
    section.to_writer(page)?;
    page.flush()?;
    Ok(())
}

/// What the exit codes of a command mean; the table is also at the head of src/main.rs.
fn exit_status(command: &str) -> [(&'static str, &'static str); 4] {
    let is_of = |row: &&[&str; 4]| row[0].split(' ').any(|name| name == command);
    let [_, done, faults, failed] = EXIT_STATUS.iter().find(is_of).unwrap_or(&OTHERS);
    [
        ("0", done),
        ("1", faults),
        ("2", failed),
        ("130", "Stopped by a second Ctrl-C."),
    ]
}

/// Commands, and what their exit codes 0, 1 and 2 mean.
const EXIT_STATUS: [[&str; 4]; 14] = [
    [
        "ask",
        "The question is answered.",
        "The question is answered, but some documents are faulty; the faults are named.",
        "No document can answer, or the question is empty.",
    ],
    [
        "images",
        "The run is written.",
        "The run is written, but documents, topics or arguments are faulty; the faults are named.",
        "There is no image, no readable topic or no readable argument.",
    ],
    [
        "extract",
        "The evidence is stored.",
        "The evidence is stored, but documents are faulty; the faults are named.",
        "There is no image.",
    ],
    [
        "controversial comparative rank",
        "The run is written.",
        "The run is written, but documents or topics are faulty; the faults are named.",
        "There is no readable topic or no document that can be ranked, or a service does not answer.",
    ],
    [
        "index",
        "The index is up to date, or its files are not damaged (--check).",
        "The index is up to date, but documents are faulty (texts); the faults are named.",
        "There is no document, or a file of the index is damaged (--check).",
    ],
    [
        "read",
        "All images are read.",
        "Some of the images cannot be decoded; they are named.",
        "None of the images can be decoded.",
    ],
    [
        "stance quality",
        "All questions are answered.",
        "A line of --jsonl is broken; it is named, and its answer is null.",
        "The topic, or an object, is empty, or no line of --jsonl can be answered.",
    ],
    [
        "merge",
        "The shards are merged.",
        "The shards are merged, but some evidence of a damaged one could not be read.",
        "The shards contain no document.",
    ],
    [
        "fetch",
        "All files are installed.",
        "Some of the files could not be downloaded.",
        "None of the files could be downloaded.",
    ],
    [
        "inspect",
        "The report is written.",
        "The report is written, but a line of a run, of judgements or of topics is broken.",
        "A run has no line of this task, or a file cannot be read.",
    ],
    [
        "run",
        "The files are written.",
        "The files are written, but a line of the run or of judgements is broken.",
        "The run has no line of an image run, or a file cannot be read.",
    ],
    [
        "verify",
        "All runs are valid.",
        "A run is not valid, or a topic is broken.",
        "A file cannot be read.",
    ],
    [
        "evaluate",
        "The measures are printed.",
        "A line of a run or of judgements is broken, or a run has no line.",
        "There is no judgement, or a file cannot be read.",
    ],
    [
        "clear",
        "All chosen entries are removed.",
        "Some chosen entries are still there: another process uses them, or they cannot be removed.",
        "There is no entry of this name, or no terminal to ask on.",
    ],
];

/// The meanings for all other commands.
const OTHERS: [&str; 4] = [
    "",
    "Done.",
    "Done, but broken parts of the input were passed over; they are named.",
    "The command could not do its work, or there was nothing to do: an output cannot be written, an option makes no sense, or a file on disk is damaged.",
];

const ENVIRONMENT: [(&str, &str); 9] = [
    (
        "RIPOSTE_MODELS",
        "Directory of the models, by default riposte/models in the user's data directory.",
    ),
    (
        "RIPOSTE_CONFIG",
        "Configuration file, instead of riposte.toml in the working directory or in the user's configuration directory.",
    ),
    ("RIPOSTE_THREADS", "Default of --threads."),
    ("RIPOSTE_CACHE", "Default of --cache."),
    ("RIPOSTE_TAG", "Default of --tag."),
    (
        "inputDataset, outputDir",
        "Defaults of --input and --output; TIRA sets both.",
    ),
    (
        "CHATNOIR_API_KEY",
        "Key of the search engine that the approach chatnoir asks.",
    ),
    (
        "WNSEARCHDIR",
        "Directory of WordNet, for approaches that add synonyms.",
    ),
    (
        "SSL_CERT_FILE",
        "Certificates that are trusted for downloads of models and requests to services, instead of the built-in ones.",
    ),
];

const FILES: [(&str, &str); 5] = [
    (
        "riposte.toml",
        "Configuration in the working directory: threads, cache, tag, [actor], [implementation], [data].",
    ),
    (
        "~/.config/riposte/riposte.toml",
        "The user's configuration, which is read if the working directory has none.",
    ),
    (
        "~/.cache/riposte",
        "Evidence, indexes, vectors and answers of services; riposte-cache-list(1) lists them.",
    ),
    (
        "~/.local/share/riposte/models",
        "Models that riposte-models-fetch(1) has downloaded.",
    ),
    (
        "ir-metadata.yml",
        "Metadata of a run, in its directory: what it was made from, and how.",
    ),
];

/// Examples: the page, what the command does, and the command.
const EXAMPLES: [(&str, &str, &str); 27] = [
    ("riposte", "Fetch the models once:", "riposte models fetch"),
    (
        "riposte",
        "Rank the images of a collection:",
        "riposte images -i DIR -o OUT",
    ),
    ("riposte", "Check the run:", "riposte verify OUT -i DIR"),
    (
        "riposte-ask",
        "Ask a question:",
        "riposte ask 'Should cars be banned?' -i DIR",
    ),
    (
        "riposte-images",
        "Rank the images of a collection for its topics:",
        "riposte images -i DIR -o OUT",
    ),
    (
        "riposte-images",
        "Use two approaches:",
        "riposte images -i DIR -o OUT --approach riposte --approach minsc",
    ),
    (
        "riposte-controversial",
        "Rank arguments, and explain the scores:",
        "riposte controversial -i DIR -o OUT --explain OUT/explain.jsonl",
    ),
    (
        "riposte-comparative",
        "Rank passages without stances:",
        "riposte comparative -i DIR -o OUT --no-stance",
    ),
    (
        "riposte-rank",
        "Rank a collection in the layout of BEIR by BM25:",
        "riposte rank -i DIR -o OUT --approach bm25",
    ),
    (
        "riposte-index",
        "Verify the checksums of an index:",
        "riposte index -i DIR --check",
    ),
    (
        "riposte-extract",
        "Compute the first of three shards:",
        "riposte extract -i DIR --shard 1/3 --evidence one.sqlite",
    ),
    (
        "riposte-read",
        "Print the text in a picture:",
        "riposte read --text picture.png",
    ),
    (
        "riposte-stance",
        "Detect the stance of a text:",
        "riposte stance --topic 'Should cars be banned?' --text 'They kill.'",
    ),
    (
        "riposte-quality",
        "Rate a text as an argument:",
        "riposte quality --topic 'Should cars be banned?' --text 'They kill.'",
    ),
    (
        "riposte-merge",
        "Merge two shards:",
        "riposte merge all.sqlite one.sqlite two.sqlite",
    ),
    (
        "riposte-models-fetch",
        "Fetch the default models:",
        "riposte models fetch",
    ),
    (
        "riposte-models-list",
        "See which models are installed:",
        "riposte models list",
    ),
    (
        "riposte-approaches-show",
        "Print the recipe of an approach:",
        "riposte approaches show bm25",
    ),
    (
        "riposte-verify",
        "Check a run for the topics of a collection:",
        "riposte verify OUT -i DIR",
    ),
    (
        "riposte-evaluate",
        "Evaluate a run by nDCG@5:",
        "riposte evaluate --qrels qrels.txt OUT nDCG@5",
    ),
    (
        "riposte-inspect",
        "Write a report of a run:",
        "riposte inspect OUT -i DIR -o report",
    ),
    (
        "riposte-export-evidence",
        "Write the evidence as Parquet files:",
        "riposte export evidence -i DIR -o tables",
    ),
    (
        "riposte-config",
        "See which values are in force here:",
        "riposte config",
    ),
    (
        "riposte-cache-list",
        "List the cache:",
        "riposte cache list",
    ),
    (
        "riposte-cache-clear",
        "Remove entries that were not used for 30 days, without asking:",
        "riposte cache clear --older-than 30d --yes",
    ),
    (
        "riposte-completions",
        "Complete riposte's commands in bash:",
        "riposte completions bash > ~/.local/share/bash-completion/completions/riposte",
    ),
    (
        "riposte-man",
        "Install the manual pages for one user:",
        "riposte man ~/.local/share/man/man1",
    ),
];
