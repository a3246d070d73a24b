//! The things of the package `need`, and things that only these tests need: the models of the catalogue, WordNet and others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

pub use need::{Chromium, Data, Java, Python, Request, need};
use need::{Kind, Thing};
use riposte::datasets;
use riposte::index::wordnet::WordNet;
use riposte::weights::{CheckedModel, ModelStatus, Models};

use super::files::entries;

/// The models that `make test` fetches (tests/run.sh). The others cannot be downloaded from a package index, so
/// `RIPOSTE_REQUIRE=models` does not require them.
const FETCHED: [&str; 3] = ["ppocr-v4", "all-minilm-l6-v2", "afinn"];

/// A model of the catalogue, by its name. If the model is damaged, the test fails, even if the model is not required.
pub struct Model<'a>(pub &'a str);

impl Thing for Model<'_> {
    type Found = CheckedModel;

    fn kind(&self) -> Option<Kind> {
        FETCHED.contains(&self.0).then_some(Kind::Models)
    }

    fn find(&self) -> Result<CheckedModel, String> {
        // one test at a time: the first one stores the checksums, which the others read
        static CHECKING: Mutex<()> = Mutex::new(());
        let _checking = CHECKING.lock().unwrap_or_else(PoisonError::into_inner);
        let models = Models::at(None).map_err(|error| format!("{error:#}"))?;
        let dir = models.dir().join(self.0);
        match models.find(self.0).unwrap() {
            ModelStatus::Ready(model) => Ok(model),
            ModelStatus::Missing { files } => Err(format!(
                "the model {} is missing: {} has no {}",
                self.0,
                dir.display(),
                files.join(", ")
            )),
            ModelStatus::Wrong { file, why } => {
                panic!("the model {} is damaged: {file} {why}", dir.display())
            }
        }
    }
}

/// The runs that were submitted to the image task of 2022, and its judgements: the data set that `make test-official` gets. Without it, what the
/// development data have of them.
pub struct OfficialRuns;

/// What [`OfficialRuns`] has found.
pub struct FoundRuns {
    /// By the names that tests/reference/touche-2022-images.tsv has.
    pub runs: BTreeMap<String, PathBuf>,
    pub qrels: PathBuf,
}

impl Thing for OfficialRuns {
    type Found = FoundRuns;

    fn kind(&self) -> Option<Kind> {
        Some(Kind::Data)
    }

    fn find(&self) -> Result<FoundRuns, String> {
        let data_set = datasets::directory(Path::new("dataset:touche-2022-image-runs"));
        let of_development = || -> Result<(PathBuf, PathBuf), String> {
            Ok((
                Data("images/runs").find()?,
                Data("images/qrels-2022.txt").find()?,
            ))
        };
        let (runs, qrels) = match data_set {
            Ok(dir) => (dir.join("runs"), dir.join("qrels.txt")),
            // this error says how anybody can get them
            Err(error) => of_development().map_err(|_| format!("{error:#}"))?,
        };
        let runs = entries(&runs).into_iter().filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".txt")?;
            let name = name.strip_prefix("run-").unwrap_or(name).to_owned();
            Some((name, path))
        });
        Ok(FoundRuns {
            runs: runs.collect(),
            qrels,
        })
    }
}

/// A Python with a package of tests/peers.txt, by the package's name. Riposte must agree with most of these, which researchers use. tests/run.sh
/// installs them in target/peers.
pub struct Peer<'a>(pub &'a str);

impl Thing for Peer<'_> {
    type Found = PathBuf;

    fn kind(&self) -> Option<Kind> {
        Some(Kind::Peers)
    }

    fn find(&self) -> Result<PathBuf, String> {
        let python = crate::support::root().join("target/peers/bin/python");
        let import = format!("import {}", self.0);
        let tried = Command::new(&python).args(["-c", &import]).output();
        match tried {
            Ok(tried) if tried.status.success() => Ok(python),
            _ => Err(format!("target/peers has no Python with {}", self.0)),
        }
    }
}

/// A program that a package of tests/peers.txt installs on Linux, in target/peers or on the path, by its name.
pub struct PeerProgram(pub &'static str);

impl Thing for PeerProgram {
    type Found = PathBuf;

    fn kind(&self) -> Option<Kind> {
        cfg!(target_os = "linux").then_some(Kind::Peers)
    }

    fn find(&self) -> Result<PathBuf, String> {
        let installed = crate::support::root().join("target/peers/bin").join(self.0);
        if installed.is_file() {
            return Ok(installed);
        }
        Program(self.0).find()
    }
}

/// A program on the path, by its name: a shell or a formatter of manual pages.
pub struct Program(pub &'static str);

impl Thing for Program {
    type Found = PathBuf;

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn find(&self) -> Result<PathBuf, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut files = std::env::split_paths(&path).map(|dir| dir.join(self.0));
        let found = files.find(|file| file.is_file());
        found.ok_or_else(|| format!("{} is not installed", self.0))
    }
}

/// The directory of an installed WordNet.
pub struct InstalledWordNet;

impl Thing for InstalledWordNet {
    type Found = PathBuf;

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn find(&self) -> Result<PathBuf, String> {
        let missing = "WordNet is not installed (package wordnet-base, or WNSEARCHDIR)";
        WordNet::find().ok_or_else(|| missing.to_owned())
    }
}

/// The right to give a file to another user. The result is the number of that user.
#[cfg(unix)]
pub struct Giving;

#[cfg(unix)]
impl Thing for Giving {
    type Found = u32;

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn find(&self) -> Result<u32, String> {
        let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        let user = 54_321;
        let given = std::os::unix::fs::chown(file.path(), Some(user), None);
        let given = given.map_err(|_| "only root can give a file to another user".to_owned());
        given.map(|()| user)
    }
}

mod tests {
    use std::fs;
    use std::process::Output;

    use super::*;

    #[test]
    fn only_models_that_can_be_fetched_are_required() {
        let kinds: Vec<_> = Models::at(None)
            .unwrap()
            .catalogue()
            .entries()
            .iter()
            .map(|entry| (entry.name.clone(), Model(&entry.name).kind()))
            .collect();
        let required = kinds.iter().filter(|(_, kind)| kind.is_some());
        assert_eq!(required.count(), FETCHED.len(), "{kinds:?}");
        let script = crate::support::root().join("tests/run.sh");
        let fetch = format!("models fetch {}", FETCHED.join(" "));
        assert!(fs::read_to_string(script).unwrap().contains(&fetch));
    }

    /// Runs a test of this binary that needs data, with an empty directory of data.
    fn run_without_data(required: &str, skipped: &Path) -> Output {
        let dir = tempfile::tempdir().unwrap();
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", DATA_TEST])
            .env("RIPOSTE_DATA", dir.path())
            .env("RIPOSTE_REQUIRE", required)
            .env("RIPOSTE_SKIPPED", skipped)
            .output()
            .unwrap()
    }

    const DATA_TEST: &str = "picture::perceptual_hashes_are_those_of_the_collection";

    #[test]
    fn the_variables_decide_what_a_test_without_its_data_does() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("skipped");
        let output = run_without_data("", &file);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}"
        );
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            format!("{DATA_TEST}: RIPOSTE_DATA has no images/sample/images\n")
        );
        for (required, message) in [
            ("data", "RIPOSTE_DATA has no images/sample/images"),
            ("date", "\"date\" is unknown"),
        ] {
            let output = run_without_data(required, &file);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(
                !output.status.success() && said.contains("1 failed"),
                "{said}"
            );
            assert!(said.contains(message), "{said}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 1);
    }

    /// What tests/not_run.sh prints of a list of tests that did not run.
    fn summary(list: &Path) -> String {
        let mut command = Command::new("sh");
        let script = crate::support::root().join("tests/not_run.sh");
        let output = command.arg(script).arg(list).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    const OFFICIAL: &str = "judge::official_runs_have_their_official_scores_and_are_valid";

    /// The line that ends `make test` for somebody who has no data, made from what a test really says.
    #[test]
    fn a_line_says_what_riposte_could_check_if_it_had_a_data_set() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("not run");
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", OFFICIAL])
            .env("RIPOSTE_DATASETS", dir.path().join("none"))
            .env_remove("RIPOSTE_DATASETS_CATALOGUE")
            .env_remove("RIPOSTE_DATA")
            .env_remove("RIPOSTE_REQUIRE")
            .env("RIPOSTE_SKIPPED", &list)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = fs::read_to_string(&list).unwrap();
        let other = said.replace(OFFICIAL, "export::ir_measures");
        fs::write(
            &list,
            format!("{said}a::b: Java is not installed\n{said}{other}"),
        )
        .unwrap();
        let summary = summary(&list);
        let lines: Vec<&str> = summary.lines().collect();
        assert_eq!(lines.len(), 5, "{summary}");
        let size = said.split(['(', ')']).nth(1).unwrap();
        assert!(
            said.contains("is not here") && size.ends_with(" MB"),
            "{said}"
        );
        assert_eq!(
            lines[4],
            format!(
                "2 of them need data that anybody can get (riposte datasets get touche-2022-image-runs, {size}): `make test-official` gets them and runs export::ir_measures, {OFFICIAL}"
            )
        );
    }

    #[test]
    fn nothing_is_said_of_data_where_no_test_lacks_them() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list");
        fs::write(
            &list,
            "b::c: WordNet is not installed\na::b: Java is not installed\n",
        )
        .unwrap();
        assert_eq!(
            summary(&list),
            "These tests did not run, or stopped early:\na::b: Java is not installed\nb::c: WordNet is not installed\n"
        );
    }

    /// `make test-official` names its tests by a part of their names.
    #[test]
    fn the_tests_of_make_test_official_need_what_it_gets() {
        let makefile = fs::read_to_string(crate::support::root().join("Makefile")).unwrap();
        assert!(makefile.contains("datasets get touche-2022-image-runs"));
        assert!(makefile.contains("--test it official_runs"));
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--list", "official_runs"])
            .output()
            .unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        let tests: Vec<&str> = listed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .collect();
        assert!(tests.contains(&OFFICIAL) && tests.len() >= 3, "{listed}");
        // the tests themselves or what they call in the same file need the runs
        for test in tests {
            let module = test.split("::").next().unwrap();
            let file = crate::support::root().join(format!("tests/it/{module}.rs"));
            assert!(
                fs::read_to_string(file)
                    .unwrap()
                    .contains("need(OfficialRuns)"),
                "{test}"
            );
        }
    }
}
