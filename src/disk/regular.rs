//! The one way to open a file for reading. Only regular files are opened: a FIFO would wait for a writer, and a device has no end. Callers
//! that read a whole file name the largest size that makes sense for it.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Opens a regular file for reading.
///
/// # Errors
/// The file cannot be opened, or it is a directory, FIFO, socket or device. The message does not name the path.
pub fn open(path: &Path) -> io::Result<File> {
    // opening a device can have side effects, so the kind is checked first
    expect_file(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Opening does not wait if the path has become a FIFO meanwhile. This flag does not affect reading a regular file.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    expect_file(&file.metadata()?)?;
    Ok(file)
}

/// Why a file cannot be read now, although it may be readable the next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transient {
    /// An error of the disk or the system, or the file changed while it was read.
    Failure,
    /// This process has too little memory, or too many open files.
    Shortage,
}

/// Whether an error is temporary: of the disk or the system, not of the file. `None` for a file that is missing, not regular, too large or not packed
/// properly, which it stays.
pub fn transient(error: &io::Error) -> Option<Transient> {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound, OutOfMemory};
    // libraries that unpack files, and the checks here, give errors without an error number of the system
    let code = error.raw_os_error()?;
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        if code == Errno::LOOP.raw_os_error() {
            return None;
        }
        if [Errno::AGAIN, Errno::MFILE, Errno::NFILE]
            .map(Errno::raw_os_error)
            .contains(&code)
        {
            return Some(Transient::Shortage);
        }
    }
    match error.kind() {
        NotFound | NotADirectory | InvalidFilename => None,
        OutOfMemory => Some(Transient::Shortage),
        _ => Some(Transient::Failure),
    }
}

/// Whether there is something at a path.
///
/// # Errors
/// A temporary error.
pub fn exists(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if transient(&error).is_some() => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether there is a regular file at a path. After a temporary error, `Path::is_file` returns false, and the file would be left out without a word.
///
/// # Errors
/// A temporary error. The message names the path.
pub fn is_file(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_file()),
        Err(error) if transient(&error).is_some() => {
            Err(error).with_context(|| format!("cannot read {}", path.display()))
        }
        Err(_) => Ok(false),
    }
}

/// The first of these paths at which there is a regular file.
///
/// # Errors
/// Those of [`is_file`].
pub fn first_of(paths: impl IntoIterator<Item = PathBuf>) -> Result<Option<PathBuf>> {
    for path in paths {
        if is_file(&path)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Checks that there is a regular file at a path, or nothing: before a library opens the path by itself.
///
/// # Errors
/// Something else is there.
pub fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) => expect_file(&metadata),
        // the library reports what it cannot open
        Err(_) => Ok(()),
    }
}

/// Opens a file that a shell may pass as a pipe, such as a run in `<(zcat run.txt.gz)`. The caller bounds what is read from it.
///
/// # Errors
/// The file cannot be opened.
pub fn open_pipe(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// Those of [`open`], or the file is longer.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        let what = format!("more than {most} bytes, the limit for such a file");
        io::Error::new(io::ErrorKind::FileTooLarge, what)
    };
    read_unchanged(
        || open(path),
        |file| {
            let size = file.metadata()?.len();
            if size > most {
                return Err(too_large());
            }
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
            // the file may be growing
            file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > most {
                return Err(too_large());
            }
            Ok(bytes)
        },
    )
}

/// Reads a file. If somebody has written to it meanwhile, what was read may be a mixture of two versions, so it is read once more.
///
/// # Errors
/// Those of `open` and `read`, or the file changes again.
pub fn read_unchanged<T, E: From<io::Error>>(
    open: impl Fn() -> io::Result<File>,
    read: impl Fn(File) -> Result<T, E>,
) -> Result<T, E> {
    // a rename or removal changes other times, but not what is read from the open file; a pipe has neither size nor time of its own
    let state = |file: &File| -> io::Result<_> {
        let found = file.metadata()?;
        Ok(found
            .is_file()
            .then(|| (found.len(), found.modified().ok())))
    };
    for _ in 0..2 {
        let file = open()?;
        let (same, before) = (file.try_clone()?, state(&file)?);
        let done = read(file);
        if before == state(&same)? {
            return done;
        }
    }
    Err(io::Error::other("it changes while it is read").into())
}

/// Reads a regular file of text, of at most `most` bytes.
///
/// # Errors
/// Those of [`read`], or the file is not valid UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn expect_file(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let what = format!("{}, not a regular file", kind(metadata.file_type()));
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// The kind of a file that is not a regular file.
fn kind(file_type: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if file_type.is_fifo() {
            return "a FIFO";
        }
        if file_type.is_socket() {
            return "a socket";
        }
        if file_type.is_char_device() || file_type.is_block_device() {
            return "a device";
        }
    }
    if file_type.is_dir() {
        "a directory"
    } else {
        "something else"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        let error = read(&path, 4).unwrap_err().to_string();
        assert!(error.starts_with("more than 4 bytes"), "{error}");
        let error = read(dir.path(), 5).unwrap_err().to_string();
        assert_eq!(error, "a directory, not a regular file");
        assert_eq!(
            read(&dir.path().join("none"), 5).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_sockets_are_not_read() {
        let error = read(Path::new("/dev/zero"), 5).unwrap_err().to_string();
        assert_eq!(error, "a device, not a regular file");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let error = read(&path, 5).unwrap_err().to_string();
        assert_eq!(error, "a socket, not a regular file");
    }
}
