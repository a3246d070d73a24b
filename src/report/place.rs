//! Where a report is written: to a directory of files or to a single page.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use riposte_eval::edition::Edition;

use super::{Form, Report};
use crate::disk::{self, TemporaryDir};
use crate::task::files::write_atomically;

/// Where a report is written, and how.
pub struct ReportPlace {
    /// The directory of the report, or its file.
    pub output: PathBuf,
    pub form: Form,
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
            true => (Form::SingleFile, html_file(output)),
            false => (Form::Directory, output.to_owned()),
        };
        ReportPlace {
            output,
            form,
            depth,
            edition,
        }
    }

    /// Starts a report that is a directory; `None` for a single file.
    pub fn start_draft(&self) -> Result<Option<ReportWriter<'_>>> {
        match self.form {
            Form::Directory => ReportWriter::begin(&self.output).map(Some),
            Form::SingleFile => Ok(None),
        }
    }

    /// Writes the report. Returns the path of its first page.
    pub fn write(&self, draft: Option<ReportWriter>, report: &Report) -> Result<PathBuf> {
        if let Some(draft) = draft {
            draft.finish(report)?;
            return Ok(self.output.join("index.html"));
        }
        let dir = self.output.parent();
        if let Some(dir) = dir.filter(|dir| !dir.as_os_str().is_empty()) {
            fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        }
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

/// The line by which a directory is recognised as a report. Other directories are not replaced.
const MARK: &str = "<meta name=\"generator\" content=\"riposte inspect\">";

/// The directory of pictures, within a report.
pub(crate) const PICTURES: &str = "pictures";

/// Writes a report to a temporary directory, which replaces `dir` at the end.
pub struct ReportWriter<'a> {
    dir: &'a Path,
    temporary: TemporaryDir,
}

impl<'a> ReportWriter<'a> {
    /// Errors: `dir` contains something that is not a report, or the directory beside it cannot be written.
    pub fn begin(dir: &'a Path) -> Result<ReportWriter<'a>> {
        match fs::read_dir(dir) {
            Ok(mut entries) => {
                let index = fs::read_to_string(dir.join("index.html")).unwrap_or_default();
                if entries.next().is_some() && !index.contains(MARK) {
                    bail!(
                        "{} contains something that is no report of riposte; name another directory",
                        dir.display()
                    );
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", dir.display()));
            }
        }
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
    pub fn finish(self, report: &Report) -> Result<()> {
        for (name, page) in report.pages()? {
            let path = self.temporary.path().join(name);
            fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let writing = || format!("cannot write the report {}", self.dir.display());
        #[cfg(unix)]
        {
            // a temporary directory is only accessible to its owner
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(self.temporary.path(), fs::Permissions::from_mode(0o755))
                .with_context(writing)?;
        }
        if self.dir.exists() {
            fs::remove_dir_all(self.dir).with_context(writing)?;
        }
        self.temporary.rename(self.dir).with_context(writing)
    }
}
