//! Where a report is written: to a directory of files or to a single page.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use riposte_eval::edition::Edition;
use serde::{Deserialize, Serialize};

use super::{ReportForm, RunReport};
use crate::collection::read_regular;
use crate::disk::{self, TemporaryDir, regular};
use crate::files::write_atomically;

/// Where a report is written, and how.
pub struct ReportPlace {
    /// The directory of the report, or its file.
    pub output: PathBuf,
    pub(crate) form: ReportForm,
    /// Number of documents that are shown of each list; `None` for the number that fits the task.
    pub depth: Option<usize>,
    /// Decides which grades of images count as relevant.
    pub edition: &'static Edition,
}

impl ReportPlace {
    /// A place for the report at `output`; the name of a single file may lack its extension.
    pub fn new(
        output: &Path,
        single_file: bool,
        depth: Option<usize>,
        edition: &'static Edition,
    ) -> Self {
        let (form, output) = match single_file {
            true => (ReportForm::SingleFile, html_file(output)),
            false => (ReportForm::Directory, output.to_owned()),
        };
        ReportPlace {
            output,
            form,
            depth,
            edition,
        }
    }

    /// Starts a report that is a directory; `None` for a single file.
    pub(crate) fn start_draft(&self) -> Result<Option<ReportWriter<'_>>> {
        match self.form {
            ReportForm::Directory => ReportWriter::begin(&self.output).map(Some),
            ReportForm::SingleFile => Ok(None),
        }
    }

    /// Writes the report. Returns the path of its first page.
    pub(crate) fn write(&self, draft: Option<ReportWriter>, report: &RunReport) -> Result<PathBuf> {
        if let Some(draft) = draft {
            draft.finish(report)?;
            return Ok(self.output.join("index.html"));
        }
        let dir = self.output.parent();
        if let Some(dir) = dir.filter(|dir| !dir.as_os_str().is_empty()) {
            fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        }
        ensure_replaceable_page(&self.output)?;
        write_atomically(&self.output, report.single_page()?.as_bytes())?;
        Ok(self.output.clone())
    }
}

/// The path with the extension .html, which the user may leave out.
fn html_file(output: &Path) -> PathBuf {
    let extension = output.extension();
    let mut name = output.as_os_str().to_owned();
    if !extension.is_some_and(|extension| extension.eq_ignore_ascii_case("html")) {
        name.push(".html");
    }
    name.into()
}

/// The line by which a page is recognised as a report. Other files are not replaced.
const MARK: &str = "<meta name=\"generator\" content=\"riposte inspect\">";

/// The list of a report's files in its directory, each with the SHA-256 of its content. A newer report replaces only these.
const LIST: &str = "files.json";

/// Number of bytes of a page in which [`MARK`] is looked for.
const HEAD_BYTES: u64 = 1 << 16;

/// The directory of pictures, within a report.
pub(crate) const PICTURES: &str = "pictures";

/// Writes a report to a temporary directory, which replaces `dir` at the end.
pub(crate) struct ReportWriter<'a> {
    dir: &'a Path,
    temporary: TemporaryDir,
}

impl<'a> ReportWriter<'a> {
    /// Errors: `dir` contains something that no older report has written, or the directory beside it cannot be written.
    pub fn begin(dir: &'a Path) -> Result<ReportWriter<'a>> {
        ensure_replaceable(dir)?;
        let beside = disk::parent(dir);
        let writing = || format!("cannot write the report {}", dir.display());
        fs::create_dir_all(beside).with_context(writing)?;
        let temporary = TemporaryDir::new(beside).with_context(writing)?;
        Ok(ReportWriter { dir, temporary })
    }

    /// The temporary directory, to which a report's other files can be written.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Writes the pages, and replaces `dir` with the finished report.
    pub fn finish(self, report: &RunReport) -> Result<()> {
        for (name, page) in report.pages()? {
            disk::write_draft(&self.temporary.path().join(name), page.as_bytes())?;
        }
        let list = Hashes::of(self.temporary.path())?;
        let path = self.temporary.path().join(LIST);
        disk::write_draft(&path, &serde_json::to_vec_pretty(&list)?)?;
        let writing = || format!("cannot write the report {}", self.dir.display());
        #[cfg(unix)]
        {
            // a temporary directory is only accessible to its owner
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(self.temporary.path(), fs::Permissions::from_mode(0o755))
                .with_context(writing)?;
        }
        if regular::exists(self.dir).with_context(writing)? {
            // looked at again: making a report can take minutes
            ensure_replaceable(self.dir)?;
            let former = TemporaryDir::new(disk::parent(self.dir)).with_context(writing)?;
            fs::rename(self.dir, former.path().join("report")).with_context(writing)?;
        }
        self.temporary.rename(self.dir).with_context(writing)
    }
}

/// The files of a report, by their paths in its directory, with the SHA-256 of their contents.
#[derive(Serialize, Deserialize)]
struct Hashes {
    files: BTreeMap<String, String>,
}

impl Hashes {
    /// Errors: a file cannot be read.
    fn of(dir: &Path) -> Result<Hashes> {
        let mut files = BTreeMap::new();
        let mut dirs = vec![PathBuf::new()];
        while let Some(inside) = dirs.pop() {
            let path = dir.join(&inside);
            let reading = || format!("cannot read {}", path.display());
            for entry in fs::read_dir(&path).with_context(reading)? {
                let entry = entry.with_context(reading)?;
                let name = inside.join(entry.file_name());
                if entry.file_type().with_context(reading)?.is_dir() {
                    dirs.push(name);
                    continue;
                }
                let hash = hash_of(&entry.path())?;
                files.insert(name.to_string_lossy().replace('\\', "/"), hash);
            }
        }
        Ok(Hashes { files })
    }
}

/// The SHA-256 of a file. A link or a special file has none, so no list contains what is behind it.
fn hash_of(path: &Path) -> Result<String> {
    let reading = || format!("cannot read {}", path.display());
    if !fs::symlink_metadata(path).with_context(reading)?.is_file() {
        return Ok(String::new());
    }
    disk::sha256_of(&mut regular::open(path).with_context(reading)?).with_context(reading)
}

/// Checks that there is no file at `path`, or a report.
///
/// # Errors
/// It is another file, which would be lost.
pub(super) fn ensure_replaceable_page(path: &Path) -> Result<()> {
    let reading = || format!("cannot read {}", path.display());
    let mut head = Vec::new();
    let exists = regular::exists(path).with_context(reading)?;
    if exists {
        let file = regular::open(path).with_context(reading)?;
        file.take(HEAD_BYTES)
            .read_to_end(&mut head)
            .with_context(reading)?;
    }
    let mark = MARK.as_bytes();
    if exists && !head.windows(mark.len()).any(|part| part == mark) {
        bail!(
            "{} is no report of riposte, and would be replaced: name another file",
            path.display()
        );
    }
    Ok(())
}

/// Checks that `dir` is missing or empty, or contains an older report and nothing else.
///
/// # Errors
/// It contains something else, which would be lost. The message names it.
fn ensure_replaceable(dir: &Path) -> Result<()> {
    let mut entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", dir.display())),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    let list = dir.join(LIST);
    let is_list = fs::symlink_metadata(&list).is_ok_and(|found| found.is_file());
    let listed = is_list
        .then(|| read_regular(&list, crate::limits::MAX_REPORT_LIST_BYTES))
        .transpose()?;
    let listed = listed.and_then(|bytes| serde_json::from_slice::<Hashes>(&bytes).ok());
    let Some(listed) = listed else {
        bail!(
            "{} contains something that is no report of this version of riposte: name another directory, or remove it",
            dir.display()
        );
    };
    let found = Hashes::of(dir)?;
    let is_other =
        |(name, hash): &(&String, &String)| *name != LIST && listed.files.get(*name) != Some(*hash);
    if let Some((name, _)) = found.files.iter().find(is_other) {
        let path = dir.join(name);
        bail!(
            "{} was added or changed after the report was written, and a new report would replace it: move it, or name another directory",
            path.display()
        );
    }
    Ok(())
}
