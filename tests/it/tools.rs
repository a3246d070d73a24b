//! The program `collection-tools`, which is a package of its own: Cargo does not build it for these tests.

use std::path::PathBuf;

/// The program as it lies in the workspace's target directory, two levels above this test (target/PROFILE/deps/it-…).
pub fn collection_tools() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program = profile.join(format!("collection-tools{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is missing: `cargo build -p collection-tools` (with --release for a release build) makes it",
        program.display()
    );
    program
}
