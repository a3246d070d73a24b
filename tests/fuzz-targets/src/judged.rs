//! Runs, judgements and explanations: text files that the tasks' organisers, riposte or other systems write.

use riposte_eval::edition::EDITIONS;
use riposte_eval::explained::{self, ExplainedImage, ExplainedText};
use riposte_eval::verify::{Rules, verify_for_tira};
use riposte_eval::{qrels, run};

pub const RUN_WORDS: &[&[u8]] = &[
    b"51 PRO I0123456789abcdef 1 1.0 tag\n",
    b"51 Q0 doc 1 1e308 tag\n",
    b"CON",
    b"FIRST",
    b"NEUTRAL",
    b"NaN",
    b"inf",
    b"-0.0000",
    b"1e-320",
    b"4294967296",
    b"18446744073709551616",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\t",
    b"\xc2\xa0",
    b"\0",
    br#"{"argument_id":"1-1","method":"retrieval","image_id":"I1","rank":1,"tag":"t"}"#,
    b"51 doc 1\n51 doc2 2\n",
    b"51\tdoc\t16777217\n",
    b"51 doc 1 0.5\n51 doc2 2 0.75\n",
    br#"{"51":{"doc":1.5,"doc2":-2e3}}"#,
    br#","52":{"doc":null}"#,
    br#""argument_id":"#,
    br#""\"\\\ud800":{"#,
    b"\x28\xb5\x2f\xfd",
];

/// Reads a run in all formats, and verifies it by the rules of all editions.
pub fn runs(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (images, _) = run::read_images(&text);
    // the writer can refuse these lines, but must not panic
    let _ = run::write_images(&images);
    let read = run::ReadRun::read(&text);
    // each line that repeats another is named once
    assert!(read.repeated().len() < read.lines.len().max(1));
    if let Some(found) = read.contradiction() {
        assert!(found.higher.1 < found.lower.1 && found.higher.2 < found.lower.2);
    }
    let _ = run::write_texts(&read.lines);
    for edition in EDITIONS {
        let verdict = verify_for_tira(bytes, &Rules::of(edition));
        assert!(!verdict.prototext().is_empty());
        verify_for_tira(bytes, &Rules::of_evaluator(edition));
    }
    verify_for_tira(bytes, &Rules::of_any_collection());
}

pub const QRELS_WORDS: &[&[u8]] = &[
    b"51 0 doc 2\n",
    b"51 0 doc FIRST\n",
    b"51 ONTOPIC I1 1\n",
    b"51 PRO I1 0\n",
    b"-2",
    b"1e400",
    b"NaN",
    b"9223372036854775808",
    b"\xef\xbb\xbf",
    b"{",
    b"[",
    br#""images":"#,
    b"null",
    b"query-id\tcorpus-id\tscore\n",
    b"51\tdoc\t2\n51\tdoc2\t0\n",
    br#"{"51":{"doc":2,"doc2":0}}"#,
    br#","52":{"doc":"x"}"#,
    br#""imageId":"#,
];

/// Reads judgements of any kind, and then as judgements of images.
pub fn qrels(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = qrels::read(&text);
    let _ = qrels::read_images(&text);
}

pub const EXPLAINED_WORDS: &[&[u8]] = &[
    br#"{"topic":"51","image":"I1","listed":[],"pro":null,"con":null}"#,
    br#""listed":[{"stance":"PRO","rank":1,"score":1.0}]"#,
    br#"{"name":"sum","value":1.0,"parts":["#,
    br#""id":"relevance","#,
    br#""id":{"channel":"bm25 ocr"},"#,
    br#""id":{"term":{"field":"title","term":"zoo"}},"#,
    br#""id":{"search":{"number":2,"weight":1.0,"rank":3}},"#,
    br#""parts":[]"#,
    br#""value":1e999"#,
    b"null",
    b"[[[[",
    b"]]]]",
    b"\\ud800",
    b"-0.0",
];

/// Reads explanations of both kinds, writes them, and reads them again. Their number must not change; scores can differ in the last bit.
pub fn explained(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(images) = explained::read::<ExplainedImage>(&text)
        && let Ok(written) = explained::write(&images)
    {
        let again = explained::read::<ExplainedImage>(&String::from_utf8_lossy(&written));
        assert!(again.is_ok_and(|again| again.len() == images.len()));
    }
    if let Ok(texts) = explained::read::<ExplainedText>(&text)
        && let Ok(written) = explained::write(&texts)
    {
        let again = explained::read::<ExplainedText>(&String::from_utf8_lossy(&written));
        assert!(again.is_ok_and(|again| again.len() == texts.len()));
    }
}
