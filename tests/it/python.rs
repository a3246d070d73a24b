//! Runs the tests of the Python package (python/tests) with the program of these tests.

use std::path::Path;
use std::process::Command;

use riposte::weights::Models;

use crate::support::need::{Java, Model, Peer, need};
use crate::support::program::{stdout, succeed};
use crate::support::root;

/// Runs the Python tests of a file.
fn passes(file: &str) {
    // these packages of tests/peers.txt leave no files when they are imported; ir_datasets makes directories in the user's home
    let Some(python) = need(Peer("ijson, maturin, mypy, pytest")) else {
        return;
    };
    let tests = root().join("python/tests").join(file);
    let mut command = Command::new(python);
    command
        .args(["-m", "pytest", "-q", "--tb=short", "-W", "ignore"])
        .arg(&tests)
        .current_dir(root().join("python"))
        .env("RIPOSTE_BINARY", env!("CARGO_BIN_EXE_riposte"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("RIPOSTE_TEST_MODELS", Models::at(None).unwrap().dir())
        .env_remove("RIPOSTE_CONFIG");
    let said = stdout(&succeed(&mut command));
    assert!(
        said.contains(" passed") && !said.contains("skipped"),
        "{said}"
    );
}

#[test]
fn the_program_is_found_and_run() {
    passes("test_program.py");
}

#[test]
fn small_commands_run_in_a_process_that_goes_on() {
    passes("test_calls.py");
}

#[test]
fn the_typed_interface_returns_what_the_command_line_prints() {
    passes("test_api.py");
}

#[test]
fn types_are_those_that_type_checkers_read() {
    if need(Peer("basedpyright")).is_some() {
        passes("test_types.py");
    }
}

#[test]
fn no_file_imports_itself_through_others() {
    passes("test_imports.py");
}

#[test]
fn pyterrier_ranks_and_measures_what_the_command_line_does() {
    passes("test_pt.py");
}

#[test]
fn indexes_are_shared_as_artifacts_of_pyterrier() {
    passes("test_artifacts.py");
}

#[test]
fn data_sets_of_ir_datasets_are_written() {
    passes("test_datasets.py");
}

#[test]
fn evidence_is_read_as_data_frames() {
    passes("test_evidence.py");
}

#[test]
fn evidence_computed_on_spark_is_that_of_one_machine() {
    if need(Peer("pyarrow, pyspark")).is_some() && need(Java).is_some() {
        passes("test_spark.py");
    }
}

#[test]
fn texts_are_indexed_and_searched_on_spark_as_on_one_machine() {
    if need(Peer("pyarrow, pyspark")).is_some() && need(Java).is_some() {
        passes("test_spark_texts.py");
    }
}

#[test]
fn models_are_shipped_to_executors_of_spark() {
    let models = ["ppocr-v4", "all-minilm-l6-v2"].map(|name| need(Model(name)));
    if models.iter().all(Option::is_some)
        && need(Peer("pyarrow, pyspark")).is_some()
        && need(Java).is_some()
    {
        passes("test_spark_models.py");
    }
}

#[test]
fn the_examples_of_the_page_run() {
    passes("test_docs.py");
}

#[test]
fn notebooks_run_and_their_pages_are_what_they_print() {
    if need(Peer("ipykernel, nbclient")).is_some() {
        passes("test_notebooks.py");
    }
}

#[test]
fn notebooks_with_models_print_what_their_pages_show() {
    let model = need(Model("all-minilm-l6-v2"));
    if model.is_some() && need(Peer("ipykernel, nbclient")).is_some() {
        passes("test_notebooks_models.py");
    }
}

#[test]
fn packaging_names_what_other_files_decide() {
    if need(Peer("rattler_build")).is_some() {
        passes("test_packaging.py");
    }
}

#[test]
fn the_wheel_is_built_and_installed() {
    passes("test_wheel.py");
}

/// A file of tests that is not named here would never run.
#[test]
fn each_file_of_python_tests_is_run() {
    let this = std::fs::read_to_string(root().join("tests/it/python.rs")).unwrap();
    for entry in std::fs::read_dir(root().join("python/tests")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap();
        let is_test =
            name.starts_with("test_") && Path::new(name).extension().is_some_and(|e| e == "py");
        assert!(!is_test || this.contains(&format!("\"{name}\"")), "{name}");
    }
}
