//! Things that tests need and a machine can lack: models, a browser, the development data.
//!
//! The test harness hides the output of a passing test, so a test that returns early looks like one that ran. Each test
//! therefore calls [`need`] for such a thing. Two variables decide what happens if it is missing:
//!
//! - `RIPOSTE_REQUIRE=models,chromium,data,python,peers,java` (some of these words): a test that lacks a thing of these kinds fails.
//! - `RIPOSTE_SKIPPED=FILE`: for each missing thing that is not required, a line `test: reason` is appended to FILE.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The kinds of things that `RIPOSTE_REQUIRE` can require.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Models,
    Chromium,
    Data,
    Python,
    Peers,
    Java,
}

impl Kind {
    fn parse(word: &str) -> Result<Kind, String> {
        match word {
            "models" => Ok(Kind::Models),
            "chromium" => Ok(Kind::Chromium),
            "data" => Ok(Kind::Data),
            "python" => Ok(Kind::Python),
            "peers" => Ok(Kind::Peers),
            "java" => Ok(Kind::Java),
            _ => Err(format!(
                "RIPOSTE_REQUIRE: {word:?} is unknown; known words are models, chromium, data, python, peers, java"
            )),
        }
    }
}

/// A thing that a machine can lack.
pub trait Thing {
    type Found;

    /// The kind by which `RIPOSTE_REQUIRE` requires the thing; none if it is never required.
    fn kind(&self) -> Option<Kind>;

    /// The thing, or the reason why it is missing.
    fn find(&self) -> Result<Self::Found, String>;
}

/// The browser that `CHROMIUM` names. If the variable is not set, the first program on the path with one of the usual names.
pub struct Chromium;

impl Thing for Chromium {
    type Found = PathBuf;

    fn kind(&self) -> Option<Kind> {
        Some(Kind::Chromium)
    }

    fn find(&self) -> Result<PathBuf, String> {
        if let Some(path) = std::env::var_os("CHROMIUM").filter(|path| !path.is_empty()) {
            return Ok(path.into());
        }
        let names = ["chromium", "chromium-browser", "google-chrome"];
        on_path(&names).ok_or_else(|| "Chromium is not installed".to_owned())
    }
}

/// The program `java`, in `JAVA_HOME` or on the path.
pub struct Java;

impl Thing for Java {
    type Found = PathBuf;

    fn kind(&self) -> Option<Kind> {
        Some(Kind::Java)
    }

    fn find(&self) -> Result<PathBuf, String> {
        let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
        let named = home.map(|home| Path::new(&home).join("bin/java"));
        let found = named.filter(|java| java.is_file());
        let found = found.or_else(|| on_path(&["java"]));
        found.ok_or_else(|| "Java is not installed".to_owned())
    }
}

/// A file or directory of the development data, by its path in the directory that `RIPOSTE_DATA` names.
pub struct Data<'a>(pub &'a str);

impl Thing for Data<'_> {
    type Found = PathBuf;

    fn kind(&self) -> Option<Kind> {
        Some(Kind::Data)
    }

    fn find(&self) -> Result<PathBuf, String> {
        let dir = std::env::var_os("RIPOSTE_DATA").filter(|dir| !dir.is_empty());
        let dir = dir.ok_or("RIPOSTE_DATA, the directory of the development data, is not set")?;
        let path = match self.0 {
            "" => PathBuf::from(dir),
            inside => Path::new(&dir).join(inside),
        };
        // tests can run commands in other directories
        let path = std::path::absolute(path).map_err(|error| error.to_string())?;
        if path.exists() {
            Ok(path)
        } else {
            Err(format!("RIPOSTE_DATA has no {}", self.0))
        }
    }
}

/// `python3` on the path.
pub struct Python;

impl Thing for Python {
    type Found = PathBuf;

    fn kind(&self) -> Option<Kind> {
        Some(Kind::Python)
    }

    fn find(&self) -> Result<PathBuf, String> {
        on_path(&["python3"]).ok_or_else(|| "python3 is not installed".to_owned())
    }
}

/// The value of a variable that has to be set for a test to run.
pub struct Request {
    pub variable: &'static str,
    /// The reason why the test does not run by default.
    pub reason: &'static str,
}

impl Thing for Request {
    type Found = OsString;

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn find(&self) -> Result<OsString, String> {
        let value = std::env::var_os(self.variable).filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("{} (set {} to run it)", self.reason, self.variable))
    }
}

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut files =
        std::env::split_paths(&path).flat_map(|dir| names.iter().map(move |name| dir.join(name)));
    files.find(|file| file.is_file())
}

/// The thing, or none if it is missing: then the calling test must return. Fails the test if the missing thing is required.
#[track_caller]
pub fn need<T: Thing>(thing: T) -> Option<T::Found> {
    // the harness names the thread after the test
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread without a name");
    let settings = Settings::of_environment();
    match settings.and_then(|settings| settings.resolve(test, &thing)) {
        Ok(found) => found,
        Err(failure) => panic!("{failure}"),
    }
}

/// The values of both variables.
struct Settings {
    required: Vec<Kind>,
    skipped: Option<PathBuf>,
}

impl Settings {
    fn of_environment() -> Result<Settings, String> {
        let required = match std::env::var("RIPOSTE_REQUIRE") {
            Ok(words) => words,
            Err(std::env::VarError::NotPresent) => String::new(),
            Err(error) => return Err(format!("RIPOSTE_REQUIRE: {error}")),
        };
        let skipped = std::env::var_os("RIPOSTE_SKIPPED").filter(|file| !file.is_empty());
        Settings::new(&required, skipped.map(PathBuf::from))
    }

    fn new(required: &str, skipped: Option<PathBuf>) -> Result<Settings, String> {
        let words = required
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty());
        let required = words.map(Kind::parse).collect::<Result<_, _>>()?;
        Ok(Settings { required, skipped })
    }

    /// The thing; none if it is missing and not required; an error if the test must fail.
    fn resolve<T: Thing>(&self, test: &str, thing: &T) -> Result<Option<T::Found>, String> {
        let reason = match thing.find() {
            Ok(found) => return Ok(Some(found)),
            Err(reason) => reason,
        };
        if thing
            .kind()
            .is_some_and(|kind| self.required.contains(&kind))
        {
            return Err(format!("{reason}, and RIPOSTE_REQUIRE requires it"));
        }
        if let Some(file) = &self.skipped {
            let line = format!("{test}: {}\n", reason.replace('\n', " "));
            // one write in append mode: lines of tests that run at the same time do not mix
            let mut open = OpenOptions::new();
            let opened = open.append(true).create(true).open(file);
            let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
            written.map_err(|error| format!("RIPOSTE_SKIPPED={}: {error}", file.display()))?;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A thing that no machine has.
    struct Absent(Option<Kind>);

    impl Thing for Absent {
        type Found = ();

        fn kind(&self) -> Option<Kind> {
            self.0
        }

        fn find(&self) -> Result<(), String> {
            Err("the philosopher's stone\nis missing".to_owned())
        }
    }

    /// A thing that every machine has.
    struct Present;

    impl Thing for Present {
        type Found = u32;

        fn kind(&self) -> Option<Kind> {
            Some(Kind::Data)
        }

        fn find(&self) -> Result<u32, String> {
            Ok(7)
        }
    }

    #[test]
    fn a_missing_thing_that_is_required_is_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("skipped");
        let settings = Settings::new(" models,data ", Some(file.clone())).unwrap();
        for kind in [Kind::Models, Kind::Data] {
            let failure = settings.resolve("a_test", &Absent(Some(kind))).unwrap_err();
            assert!(failure.contains("the philosopher's stone"), "{failure}");
        }
        assert_eq!(settings.resolve("a_test", &Present), Ok(Some(7)));
        assert!(!file.exists());
    }

    #[test]
    fn a_missing_thing_that_is_not_required_is_written_down() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("skipped");
        let settings = Settings::new("chromium", Some(file.clone())).unwrap();
        for (test, kind) in [("one", Some(Kind::Python)), ("two", None)] {
            assert_eq!(settings.resolve(test, &Absent(kind)), Ok(None));
        }
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "one: the philosopher's stone is missing\ntwo: the philosopher's stone is missing\n"
        );
        let nowhere = Settings::new("", Some(dir.path().to_owned())).unwrap();
        assert!(nowhere.resolve("one", &Absent(None)).is_err());
        let unlisted = Settings::new("", None).unwrap();
        assert_eq!(unlisted.resolve("one", &Absent(None)), Ok(None));
    }

    #[test]
    fn an_unknown_word_is_a_failure() {
        let failure = Settings::new("models,browser", None).err().unwrap();
        assert!(failure.contains("\"browser\" is unknown"), "{failure}");
        // the value of this run of the tests is checked too, even if nothing is missing
        Settings::of_environment().unwrap();
    }
}
