//! `riposte --version` and `-V`.

use crate::support::program::WorkDir;

#[test]
fn the_short_version_is_a_line_and_the_long_one_says_what_the_program_is() {
    let dir = WorkDir::new();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(dir.run("-V").1, format!("riposte {version}\n"));
    let (code, long, said) = dir.run("--version");
    assert_eq!((code, said.as_str()), (0, ""));
    let value = |key: &str| {
        let line = long.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_else(|| panic!("no {key} in {long}"))
            .trim()
            .to_owned()
    };
    assert!(long.starts_with(&format!("riposte {version}\n")), "{long}");
    let commit = value("commit");
    let is_hash = |text: &str| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(
        commit == "unknown" || is_hash(commit.trim_end_matches("-changed")),
        "{commit}"
    );
    assert!(value("target").starts_with(std::env::consts::ARCH));
    assert_eq!(
        value("features"),
        if cfg!(feature = "cuda") {
            "cuda"
        } else {
            "none"
        }
    );
    let (floats, products) = (value("floats"), value("products"));
    #[cfg(target_arch = "x86_64")]
    {
        let has_vnni = is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("avx512bw")
            || is_x86_feature_detected!("avxvnni") && is_x86_feature_detected!("avx2");
        assert_eq!(products.starts_with("int8 with A"), has_vnni, "{products}");
        assert_eq!(products.starts_with("float"), !has_vnni, "{products}");
        if !is_x86_feature_detected!("avx512f") {
            assert_ne!(floats, "AVX-512");
        }
        assert_eq!(
            floats.starts_with("AVX"),
            is_x86_feature_detected!("avx2"),
            "{floats}"
        );
    }
    assert!(!floats.is_empty() && !products.is_empty());
    // both backends are in every build; without a GPU, the packed one is the default
    let encoders = value("encoders");
    assert!(encoders.contains("packed") && encoders.contains("--backend"));
    if !cfg!(feature = "cuda") {
        assert!(encoders.starts_with("packed"), "{encoders}");
    }
}
