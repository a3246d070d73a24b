use super::*;

#[test]
fn names_are_read_as_they_are_written() {
    let stem = stem_of(Path::new("/data/my-touche.2022"));
    assert!(is_stem(&stem), "{stem}");
    let entry = |kind| Name::Entry(kind, Some(stem.as_str()));
    for (end, name) in [
        (".sqlite", entry(Kind::Evidence)),
        (".vectors.sqlite", entry(Kind::Outputs)),
        ("-01234567.passages.sqlite", entry(Kind::Vectors)),
        ("-01234567.index", entry(Kind::Index)),
        (".answers", entry(Kind::Answers)),
        (".passages.sqlite", Name::Other),
        (".index", Name::Other),
        (".txt", Name::Other),
    ] {
        assert_eq!(read_name(&format!("{stem}{end}")), name, "{end}");
    }
    let main = format!("{stem}.sqlite");
    for end in [".lock", "-journal", "-wal", "-shm"] {
        assert_eq!(read_name(&format!("{main}{end}")), Name::Beside(&main));
    }
    let index = format!("{stem}-01234567.index");
    assert_eq!(read_name(&format!(".{index}.lock")), Name::Beside(&index));
    let vectors = format!("{stem}-01234567.passages.sqlite");
    assert_eq!(
        read_name(&format!(".{vectors}.lock")),
        Name::Beside(&vectors)
    );
    let building = format!(".{index}.building-aB3dEf");
    assert_eq!(read_name(&building), entry(Kind::LeftOver));
    let record = format!("{RECORD}{stem}");
    assert_eq!(read_name(&record), Name::Record(&stem));
    for (name, read) in [
        (".riposte-aB3dEf", Name::Entry(Kind::LeftOver, None)),
        (
            ".contents-0123456789ab.json",
            Name::Entry(Kind::Hashes, None),
        ),
        (".contents-notes.json", Name::Other),
        (".riposte-notes", Name::Other),
        ("thesis.sqlite", Name::Other),
        ("thesis.sqlite.lock", Name::Other),
        (".bashrc", Name::Other),
        ("", Name::Other),
    ] {
        assert_eq!(read_name(name), read, "{name}");
    }
}
