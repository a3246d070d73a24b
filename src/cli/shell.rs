//! `completions` and `man`: scripts for shells and manual pages. The program writes them itself, so that they agree with it.

mod known;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Args, Command, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use serde::Deserialize;

use super::{print, shown};
use known::Known;
use riposte::files::write_atomically;

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
    let mut command = with_suggestions(visible(&command), &Known::read()?);
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

/// The command for generators of completions. It must not parse: it would refuse values that it does not complete, such as the file of an approach.
fn with_suggestions(command: Command, known: &Known) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|arg| {
        if !arg.get_action().takes_values() {
            return arg;
        }
        let values = known.values(&name, arg.get_id().as_str());
        let hint = match arg.get_value_names() {
            Some([only]) if only == "DIR" => ValueHint::DirPath,
            Some([only]) if only.contains("FILE") => ValueHint::FilePath,
            _ => arg.get_value_hint(),
        };
        if values.is_empty() {
            arg.value_hint(hint)
        } else {
            arg.value_parser(PossibleValuesParser::new(values))
        }
    });
    command.mut_subcommands(|subcommand| with_suggestions(subcommand, known))
}

/// `riposte man`: writes the manual pages, or prints that of riposte itself.
pub(super) fn man(args: &ManArgs, command: Command) -> Result<u8> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let manual = Manual::read()?;
    let Some(dir) = &args.dir else {
        let page = page(&command, &manual)?;
        print(&String::from_utf8_lossy(&page))?;
        return Ok(0);
    };
    std::fs::create_dir_all(dir)
        .with_context(|| format!("cannot create the directory {}", dir.display()))?;
    let count = write_pages(&command, &manual, dir)?;
    say!("{count} manual pages in {}", shown(dir));
    Ok(0)
}

fn write_pages(command: &Command, manual: &Manual, dir: &Path) -> Result<usize> {
    let file = dir.join(format!("{}.1", page_name(command)));
    write_atomically(&file, &page(command, manual)?)?;
    let mut count = 1;
    for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        count += write_pages(subcommand, manual, dir)?;
    }
    Ok(count)
}

/// The name of a command's page: riposte-models-fetch.
fn page_name(command: &Command) -> String {
    let name = command.get_display_name();
    name.unwrap_or_else(|| command.get_name()).to_owned()
}

/// What the manual pages say that clap does not know.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manual {
    /// The name and its meaning.
    environment: Vec<(String, String)>,
    files: Vec<(String, String)>,
    /// The page, what the command does, and the command.
    examples: Vec<(String, String, String)>,
    exit_codes: Vec<ExitCodes>,
}

/// What the exit codes of some commands mean.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExitCodes {
    /// Their full names: "models fetch". The row without names is that of all other commands.
    commands: Vec<String>,
    /// The meanings of 0, 1 and 2; empty for a code that does not occur.
    meanings: [String; 3],
}

impl Manual {
    /// What manual.toml says.
    ///
    /// # Errors
    /// The file is wrong, which is a defect of the program.
    fn read() -> Result<Manual> {
        Ok(toml::from_str(include_str!("manual.toml"))?)
    }

    /// What the exit codes 0, 1 and 2 of a command mean. `page` is the name of its manual page.
    ///
    /// # Errors
    /// The table has no row for the command, and none for other commands.
    fn exit_codes(&self, page: &str) -> Result<&[String; 3]> {
        let command = page.strip_prefix("riposte-").unwrap_or(page);
        let command = command.replace('-', " ");
        let of_command = |row: &&ExitCodes| row.commands.contains(&command);
        let found = self.exit_codes.iter().find(of_command);
        let found = found.or_else(|| self.exit_codes.iter().find(|row| row.commands.is_empty()));
        Ok(&found.context("no exit codes of other commands")?.meanings)
    }
}

/// A manual page.
fn page(command: &Command, manual: &Manual) -> Result<Vec<u8>> {
    let name = page_name(command);
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let subcommands = command.get_subcommands().filter(|c| !c.is_hide_set());
    let subcommands = subcommands.map(|of| {
        let about = of.get_about().map(ToString::to_string);
        let term = vec![bold(page_name(of)), roman("(1)")];
        (term, roman(about.unwrap_or_default()))
    });
    list(&mut page, "COMMANDS", subcommands)?;
    if !command.has_subcommands() || command.get_name() == "riposte" {
        let [done, no, failed] = manual.exit_codes(&name)?.each_ref().map(String::as_str);
        let stopped = "Stopped by a second Ctrl-C.";
        let codes = [("0", done), ("1", no), ("2", failed), ("130", stopped)];
        let codes = codes.into_iter().filter(|(_, meaning)| !meaning.is_empty());
        list(&mut page, "EXIT STATUS", codes.map(described))?;
    }
    for (title, entries) in [
        ("ENVIRONMENT", &manual.environment),
        ("FILES", &manual.files),
    ] {
        let entries = entries
            .iter()
            .map(|(name, what)| (name.as_str(), what.as_str()));
        list(&mut page, title, entries.map(described))?;
    }
    let examples = manual.examples.iter().filter(|(of, _, _)| *of == name);
    let examples =
        examples.map(|(_, what, line)| (vec![roman(what.as_str())], bold(line.as_str())));
    list(&mut page, "EXAMPLES", examples)?;
    see_also(command, &name, &mut page)?;
    let title = name.to_uppercase().replace('-', "\\-");
    let version = env!("CARGO_PKG_VERSION");
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

fn described((term, description): (impl Into<String>, impl Into<String>)) -> (Vec<Inline>, Inline) {
    (vec![bold(term)], roman(description))
}

/// Writes a section of terms with their descriptions, unless there are none.
fn list(
    page: &mut Vec<u8>,
    title: &str,
    entries: impl Iterator<Item = (Vec<Inline>, Inline)>,
) -> Result<()> {
    let mut section = Roff::new();
    for (n, (term, description)) in entries.enumerate() {
        if n == 0 {
            section.control("SH", [title]);
        }
        section.control("TP", []);
        section.text(term);
        section.text([description]);
    }
    Ok(section.to_writer(page)?)
}

fn see_also(command: &Command, name: &str, page: &mut Vec<u8>) -> Result<()> {
    let parent = name.rsplit_once('-').map(|(parent, _)| parent.to_owned());
    let subcommands = command.get_subcommands().filter(|c| !c.is_hide_set());
    let others: Vec<String> = parent
        .into_iter()
        .chain(subcommands.map(page_name))
        .collect();
    let mut line: Vec<Inline> = Vec::new();
    for (n, other) in others.iter().enumerate() {
        let after = if n + 1 < others.len() { "(1), " } else { "(1)" };
        line.extend([bold(other.as_str()), roman(after)]);
    }
    let mut section = Roff::new();
    section.control("SH", ["SEE ALSO"]);
    section.text(line);
    Ok(section.to_writer(page)?)
}
