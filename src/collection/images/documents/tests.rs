use super::*;

#[test]
fn a_ranking_is_read_with_numbers_or_strings() {
    let wanted = CrawlRank {
        query: "lower voting age good".into(),
        topic: "48".into(),
        rank: 24,
    };
    for line in [
        r#"{"query":"lower voting age good","topic":"48","rank":24}"#,
        r#"{"rank":"24","topic":48,"query":" lower voting age good "}"#,
    ] {
        assert_eq!(parse_ranking(line).as_ref(), Some(&wanted));
    }
    for line in ["", "{}", "[1]", r#"{"query":"x","topic":"48","rank":-1}"#] {
        assert_eq!(parse_ranking(line), None);
    }
}

#[test]
fn the_texts_of_a_document_have_a_common_bound() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("text");
    fs::write(&path, "1234567").unwrap();
    let entry = ImageFolder {
        id: DocId("I0".to_owned()),
        dir: dir.path().to_owned(),
    };
    let listing = entry.list(&mut Vec::new());
    let mut texts = TextFiles {
        listing: &listing,
        left: 16,
    };
    let mut faults = Vec::new();
    let mut read = || texts.read(&path, FaultKind::Page, &mut faults).is_some();
    assert_eq!([read(), read(), read()], [true, true, false]);
    assert_eq!(faults.len(), 1);
    assert!(
        faults[0]
            .what
            .starts_with("more than the 2 bytes that remain")
    );
}

#[test]
fn a_phash_has_64_digits_first_highest() {
    let text = format!("1{}1", "0".repeat(62));
    assert_eq!(parse_phash(&text), Some((1 << 63) | 1));
    assert_eq!(parse_phash("101"), None);
    assert_eq!(parse_phash(&"2".repeat(64)), None);
    assert_eq!(parse_phash(&"é".repeat(32)), None);
}
