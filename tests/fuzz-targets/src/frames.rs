//! Documents of images in frames, as `riposte extract --stream` reads them.

use std::path::Path;

use riposte::collection::frames::read_frame;

pub const WORDS: &[&[u8]] = &[
    br#"{"document":"I0123456789abcdef","files":[]}"#,
    br#"{"path":"image.png","size":3}"#,
    br#"{"path":"../../x","size":3}"#,
    br#"{"path":"a/b","size":18446744073709551615,"omitted":true}"#,
    br#""omitted":true"#,
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\0",
];

/// Reads all frames. Afterwards, neither the directory nor its parent may contain anything new.
pub fn frames(bytes: &[u8]) {
    let Ok(home) = tempfile::tempdir() else {
        return;
    };
    let into = home.path().join("frames");
    if std::fs::create_dir(&into).is_err() {
        return;
    }
    let mut input = bytes;
    while let Ok(Some(document)) = read_frame(&mut input, &into) {
        assert!(document.entry.dir.starts_with(&into));
    }
    let count = |dir: &Path| std::fs::read_dir(dir).map_or(0, Iterator::count);
    assert_eq!((count(&into), count(home.path())), (0, 1));
}
