//! Adds a model of the user's own to the models directory: from a directory, or from the Hugging Face hub.
//!
//! A copy is made in a temporary directory, a download in `NAME.part`, which a later download of the same model continues. Either gets its name when
//! it is complete and checked, and after that its entry in `added.toml`. So a process that is killed leaves no model that is half there.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::added::{self, ADDED, AddedFile, AddedModel, HUB};
use super::catalogue::is_same;
use super::fetch::{FailedSource, FetchOutcome, ModelClients};
use super::files;
use super::hub::Repository;
use super::{
    FETCHED, FetchRecord, ModelCatalogue, ModelFile, ModelRole, ModelSource, Models, VERIFIED,
    licence,
};
use crate::disk::{self, TemporaryDir, is_plain_name, read_record, regular, sha256_of};
use crate::events::{Event, OnEvent};
use crate::limits::{MAX_DOWNLOAD_BYTES, MAX_MODEL_FILES, MAX_MODEL_NAME_BYTES};
use crate::workspace::Lock;

/// An unfinished download is in a directory whose name ends in this way.
pub(super) const UNFINISHED: &str = ".part";

/// The directory or the repository from which a model is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelOrigin {
    Directory(PathBuf),
    Hub(Repository),
}

impl fmt::Display for ModelOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelOrigin::Directory(dir) => write!(f, "{}", dir.display()),
            ModelOrigin::Hub(repository) => write!(f, "{repository}"),
        }
    }
}

impl ModelOrigin {
    /// A directory, or `hf:OWNER/NAME` with or without `@REVISION`.
    ///
    /// # Errors
    /// What follows `hf:` is no repository.
    pub fn parse(text: &str) -> Result<ModelOrigin> {
        Ok(match text.strip_prefix(HUB) {
            Some(repository) => ModelOrigin::Hub(Repository::parse(repository)?),
            None => ModelOrigin::Directory(PathBuf::from(text)),
        })
    }

    /// The name of a model for which the user gives none: that of the directory or of the repository.
    ///
    /// # Errors
    /// The directory has no name.
    pub(crate) fn name(&self) -> Result<String> {
        match self {
            ModelOrigin::Hub(repository) => Ok(repository.name.clone()),
            ModelOrigin::Directory(dir) => {
                let path = fs::canonicalize(dir);
                let path = path.with_context(|| format!("cannot read {}", dir.display()))?;
                let name = path
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned());
                name.with_context(|| {
                    format!("{} has no name: --name gives the model one", dir.display())
                })
            }
        }
    }
}

/// Checks that a model can be added under this name.
///
/// # Errors
/// It is no plain name, or it has another meaning.
pub(crate) fn check_name(name: &str) -> Result<()> {
    ensure!(
        is_plain_name(name) && name.len() <= MAX_MODEL_NAME_BYTES,
        "{name:?} cannot be the name of a model: --name gives it one of at most {MAX_MODEL_NAME_BYTES} letters, digits, -, _ and ., which begins with a letter or a digit"
    );
    let lower = name.to_ascii_lowercase();
    let is_taken = lower == "all"
        || lower.parse::<ModelRole>().is_ok()
        || lower == ADDED
        || lower.ends_with(UNFINISHED);
    ensure!(
        !is_taken,
        "{name:?} has another meaning: --name gives the model another name"
    );
    let own = ModelCatalogue::embedded()?;
    ensure!(
        !own.entries().iter().any(|entry| is_same(&entry.name, name)),
        "riposte's own list has a model named {name}: `riposte models fetch {name}` downloads it, and --name gives yours another name"
    );
    Ok(())
}

/// A model whose files are all in a directory, but not yet under its name.
pub(crate) struct Staged {
    name: String,
    at: FilesAt,
    files: Vec<AddedFile>,
    licence: Option<String>,
    source: String,
    revision: Option<String>,
}

/// Where the files are.
enum FilesAt {
    /// A copy.
    Temporary(TemporaryDir),
    /// A download.
    Unfinished(PathBuf),
    /// The directory of the model: a process was killed before it wrote the entry, or the model was added before.
    Final(PathBuf),
}

/// What has become of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddOutcome {
    Added,
    /// It was added before, with the same files.
    Already,
}

/// Gets the files of a model. `examine` is called with the directory when the files of settings are there, before the weights are read, and returns
/// its error for a model that riposte cannot use.
///
/// # Errors
/// The name is taken, the model is refused, or a file cannot be read, downloaded or written.
pub(crate) fn stage(
    models: &Models,
    place: &ModelOrigin,
    name: &str,
    examine: &mut dyn FnMut(&Path) -> Result<()>,
    on_event: &mut OnEvent,
) -> Result<Staged> {
    match place {
        ModelOrigin::Directory(dir) => copy(models, dir, name, examine, on_event)
            .with_context(|| format!("cannot add the model in {}", dir.display())),
        ModelOrigin::Hub(repository) => download(models, repository, name, examine, on_event)
            .with_context(|| format!("cannot add {repository}")),
    }
}

fn copy(
    models: &Models,
    dir: &Path,
    name: &str,
    examine: &mut dyn FnMut(&Path) -> Result<()>,
    on_event: &mut OnEvent,
) -> Result<Staged> {
    let chosen = files::choose(&names_in(dir)?)?;
    examine(dir)?;
    let source = fs::canonicalize(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    fs::create_dir_all(models.dir()).with_context(|| writing(models.dir()))?;
    let copied = TemporaryDir::new(models.dir()).with_context(|| writing(models.dir()))?;
    let mut files = Vec::new();
    for file in chosen.settings.into_iter().chain(chosen.weights) {
        on_event(Event::step(format!(
            "{name}/{file}: from {}",
            dir.display()
        )));
        let to = copied.path().join(&file);
        copy_file(&dir.join(&file), &to).with_context(|| file.clone())?;
        files.push(measured(copied.path(), file, None)?);
    }
    Ok(Staged {
        name: name.to_owned(),
        at: FilesAt::Temporary(copied),
        files,
        licence: licence::of_directory(dir),
        source: source.to_string_lossy().into_owned(),
        revision: None,
    })
}

/// The paths of the files in a directory, and of those in the directories in it where files of a model can be.
fn names_in(dir: &Path) -> Result<BTreeSet<String>> {
    let reading = |dir: &Path| format!("cannot read {}", dir.display());
    let mut names = BTreeSet::new();
    let mut inner = vec![(dir.to_owned(), String::new())];
    while let Some((dir, prefix)) = inner.pop() {
        for entry in fs::read_dir(&dir).with_context(|| reading(&dir))? {
            let entry = entry.with_context(|| reading(&dir))?;
            // names of files that riposte reads are plain
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                continue;
            };
            let path = entry.path();
            // checkpoints of the hub's cache consist of symbolic links
            if regular::is_file(&path)? {
                names.insert(format!("{prefix}{name}"));
            } else if prefix.is_empty() && files::is_read_within(&name) && path.is_dir() {
                inner.push((path, format!("{name}/")));
            }
            ensure!(
                names.len() + inner.len() <= MAX_MODEL_FILES,
                "it has more than {MAX_MODEL_FILES} files"
            );
        }
    }
    Ok(names)
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let inner = disk::parent(to);
    fs::create_dir_all(inner).with_context(|| writing(inner))?;
    let mut source = regular::open(from)
        .context("cannot read it")?
        .take(MAX_DOWNLOAD_BYTES + 1);
    let mut file = disk::create_draft(to).with_context(|| writing(to))?;
    let copied = io::copy(&mut source, &mut file)
        .with_context(|| format!("cannot copy it to {}", to.display()))?;
    ensure!(
        copied <= MAX_DOWNLOAD_BYTES,
        "it has more than {MAX_DOWNLOAD_BYTES} bytes"
    );
    file.sync_all().with_context(|| writing(to))
}

fn writing(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// The entry of a file that is in a directory.
fn measured(dir: &Path, file: String, url: Option<String>) -> Result<AddedFile> {
    let path = dir.join(&file);
    let measure = || -> io::Result<(u64, String)> {
        let opened = regular::open(&path)?;
        Ok((opened.metadata()?.len(), sha256_of(opened)?))
    };
    let (bytes, sha256) = measure().with_context(|| format!("cannot read {}", path.display()))?;
    Ok(AddedFile {
        file,
        bytes,
        sha256,
        url,
    })
}

fn download(
    models: &Models,
    repository: &Repository,
    name: &str,
    examine: &mut dyn FnMut(&Path) -> Result<()>,
    on_event: &mut OnEvent,
) -> Result<Staged> {
    let mut sources = ModelClients::new()?;
    let listing = repository.listing(&mut sources.web, on_event)?;
    let chosen = files::choose(&listing.files)?;
    let finished = models.dir().join(name);
    let dir = if regular::exists(&finished)
        .with_context(|| format!("cannot read {}", finished.display()))?
    {
        // files of other origin are refused when they are compared
        finished.clone()
    } else {
        models.dir().join(format!("{name}{UNFINISHED}"))
    };
    let is_finished = dir == finished;
    let mut files = Vec::new();
    let mut fetch = |file: String, files: &mut Vec<AddedFile>| -> Result<()> {
        let url = repository.url(&listing.commit, &file)?;
        let shown = format!("{name}/{file}");
        let wanted = ModelFile {
            file: file.clone(),
            bytes: None,
            sha256: None,
            sources: vec![ModelSource::Address { url: url.clone() }],
        };
        let fetched: FetchRecord = read_record(&dir.join(FETCHED)).unwrap_or_default();
        let is_same_commit = fetched
            .file
            .get(&file)
            .is_some_and(|record| record.from == url);
        let known = models.catalogue().entry(name).is_ok().then_some(name);
        ensure!(is_same_commit || !is_finished, taken(&dir, known));
        if !is_same_commit {
            // another commit's
            remove_if_there(&dir.join(&file))?;
        }
        match sources.get(&dir, &wanted, &shown, on_event)? {
            FetchOutcome::Failed { tried } => bail!("{file}: {}", reasons(&tried)),
            FetchOutcome::Installed | FetchOutcome::Fetched { .. } => {}
        }
        files.push(measured(&dir, file, Some(url))?);
        Ok(())
    };
    for file in chosen.settings {
        fetch(file, &mut files)?;
    }
    if let Err(error) = examine(&dir) {
        if !is_finished {
            // riposte has no use for it
            let _ = fs::remove_dir_all(&dir);
        }
        return Err(error);
    }
    for file in chosen.weights {
        fetch(file, &mut files)?;
    }
    Ok(Staged {
        name: name.to_owned(),
        at: match is_finished {
            true => FilesAt::Final(finished),
            false => FilesAt::Unfinished(dir),
        },
        files,
        licence: listing.licence,
        source: repository.to_string(),
        revision: Some(listing.commit),
    })
}

fn reasons(tried: &[FailedSource]) -> String {
    let reasons: Vec<&str> = tried.iter().map(|attempt| attempt.why.as_str()).collect();
    reasons.join("; ")
}

fn remove_if_there(path: &Path) -> Result<()> {
    disk::remove_if_there(path).with_context(|| format!("cannot remove {}", path.display()))
}

/// The message for a directory that another model has; `known` is its name if riposte knows it.
fn taken(dir: &Path, known: Option<&str>) -> String {
    let or =
        known.map(|name| format!(", and `riposte models remove {name}` removes the other one"));
    format!(
        "{} is there already, with other files: --name gives this model another name{}",
        dir.display(),
        or.unwrap_or_default()
    )
}

impl Staged {
    /// The directory with the files.
    pub fn dir(&self) -> &Path {
        match &self.at {
            FilesAt::Temporary(dir) => dir.path(),
            FilesAt::Unfinished(dir) | FilesAt::Final(dir) => dir,
        }
    }

    /// The commit of the hub.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// Removes an unfinished download: the model is of no use.
    pub fn discard(self) {
        if let FilesAt::Unfinished(dir) = &self.at {
            // it only takes space
            let _ = fs::remove_dir_all(dir);
        }
    }

    /// Gives the files their directory, and the model its entry. `licence` is what the user says. Returns the licence of the entry, too.
    ///
    /// # Errors
    /// Another model has the name, or the models directory cannot be written.
    pub fn install(
        mut self,
        models: &Models,
        role: ModelRole,
        licence: Option<&str>,
    ) -> Result<(AddOutcome, String)> {
        let to = models.dir().join(&self.name);
        let list = added::path(models.dir());
        let _lock = Lock::to_write(&list, &mut || ())?;
        let mut record = added::read(models.dir())?;
        let is_there =
            regular::exists(&to).with_context(|| format!("cannot read {}", to.display()))?;
        let models_of_name = |model: &AddedModel| is_same(&model.name, &self.name);
        let entry = record.models.iter().position(models_of_name);
        if let Some(known) = entry.and_then(|at| record.models.get(at)) {
            // the file systems of other machines may not tell them apart
            let other = models.dir().join(&known.name);
            ensure!(known.name == self.name, taken(&other, Some(&known.name)));
        }
        let said = licence.and_then(licence::line);
        let said = said.or(self.licence.take());
        let licence = said.unwrap_or_else(|| licence::UNKNOWN.to_owned());
        self.files.sort();
        let model = AddedModel {
            name: self.name.clone(),
            role,
            licence: licence.clone(),
            source: self.source.clone(),
            revision: self.revision.clone(),
            files: self.files.clone(),
        };
        let mut outcome = AddOutcome::Added;
        if is_there {
            ensure!(
                has_files(&to, &self.files)?,
                taken(&to, entry.is_some().then_some(&*self.name))
            );
            if entry.is_some() {
                outcome = AddOutcome::Already;
            }
        }
        match self.at {
            FilesAt::Temporary(dir) if !is_there => {
                dir.rename(&to).with_context(|| writing(&to))?;
            }
            FilesAt::Unfinished(dir) => {
                if is_there {
                    let _ = fs::remove_dir_all(&dir);
                } else {
                    keep_only(&dir, &self.files)?;
                    fs::rename(&dir, &to).with_context(|| writing(&to))?;
                }
            }
            _ => {}
        }
        match entry.and_then(|at| record.models.get_mut(at)) {
            Some(known) => *known = model,
            None => record.models.push(model),
        }
        added::write(models.dir(), &record)?;
        Ok((outcome, licence))
    }
}

/// Whether a directory has these files, with these contents.
///
/// # Errors
/// A file cannot be read.
fn has_files(dir: &Path, files: &[AddedFile]) -> Result<bool> {
    for file in files {
        let is_there = regular::is_file(&dir.join(&file.file))?;
        if !is_there || measured(dir, file.file.clone(), file.url.clone())? != *file {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the files of other commits from a directory with a download.
fn keep_only(dir: &Path, files: &[AddedFile]) -> Result<()> {
    for name in names_in(dir)? {
        let is_record = [FETCHED, VERIFIED].contains(&name.as_str());
        if !is_record && !files.iter().any(|file| file.file == name) {
            remove_if_there(&dir.join(&name))?;
        }
    }
    Ok(())
}
