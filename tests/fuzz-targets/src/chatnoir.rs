//! ChatNoir's answers to a search.

use std::collections::HashSet;

use riposte::systems::chatnoir::{ChatNoir, ChatNoirAnswer, ChatNoirQuery, Uuid};

pub const WORDS: &[&[u8]] = &[
    br#"{"meta":{"total_results":2,"indices":["cw12"]},"results":["#,
    br#"{"score":1.5,"index":"cw12","trec_id":"clueweb12-0000tw-00-00000","title":"a <em>page</em>"},"#,
    br#""meta":null"#,
    br#""total_results":18446744073709551616"#,
    br#""total_results":null"#,
    br#""indices":["cw09"]"#,
    br#""results":[]"#,
    br#""results":[null]"#,
    br#""broken":18446744073709551615"#,
    br#""score":"1.5""#,
    br#""score":" -1e308 ""#,
    br#""score":"inf""#,
    br#""score":1e999"#,
    br#""score":1743.8913574218751"#,
    br#""score":0.10000000000000001"#,
    br#""uuid":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6""#,
    br#""uuid":"-B1PrX3sEdCnZQCgyR5r9g""#,
    br#""trec_id":null"#,
    br#""title":"<em><em>""#,
    br#""title":"&lt;script&gt;&#0;&nbsp;""#,
    br#""snippet":"x""#,
    br#""spam_rank":"null""#,
    b"<em>",
    b"</em>",
    b"<!--",
    b"<title>",
    b"<template>",
    b"&amp;",
    b"\\u0000",
    b"\\ud83d",
    b"[[[[[[[[",
    b"\xef\xbb\xbf",
];

/// The number of results that are requested: more than a page has.
const MOST: usize = 250;

/// Reads an answer and the titles in it. The answer that is stored for later runs is the same except for the last digits of numbers. A server that
/// sends the same answer to every request is asked a bounded number of times.
pub fn chatnoir(bytes: &[u8]) {
    let Ok(answer) = ChatNoirAnswer::parse(bytes) else {
        return;
    };
    for hit in &answer.hits {
        assert!(hit.score.is_finite());
        let title = hit.plain_title();
        let words: Vec<&str> = title.split_whitespace().collect();
        assert_eq!(title, words.join(" "));
        if let Some(uuid) = hit.uuid {
            assert_eq!(Uuid::parse(&uuid.to_string()), Some(uuid));
        }
    }
    let stored = serde_json::to_vec(&answer).expect("an answer can be stored");
    let mut again: ChatNoirAnswer =
        serde_json::from_slice(&stored).expect("a stored answer can be read");
    assert_eq!(again.hits.len(), answer.hits.len());
    for (again, hit) in again.hits.iter_mut().zip(&answer.hits) {
        same(&mut again.score, hit.score);
        for (again, ranked) in [
            (&mut again.page_rank, hit.page_rank),
            (&mut again.spam_rank, hit.spam_rank),
        ] {
            again
                .iter_mut()
                .zip(ranked)
                .for_each(|(again, number)| same(again, number));
        }
    }
    assert_eq!(again, answer);
    let query = ChatNoirQuery {
        text: "a query".to_owned(),
        index: answer.meta.indices.clone(),
        most: MOST,
    };
    let mut pages = 0;
    let found = ChatNoir::find(&query, |_| {
        pages += 1;
        Ok(answer.clone())
    });
    let found = found.expect("the requested indexes were searched");
    assert!(pages <= MOST && found.hits.len() <= MOST);
    let ids = found.hits.iter().filter_map(|hit| hit.trec_id.as_deref());
    let mut seen = HashSet::new();
    assert!(ids.into_iter().all(|id| seen.insert(id)));
}

/// Checks that a number is the one that was stored, and makes it equal: JSON is read without the last digit.
fn same(again: &mut f64, number: f64) {
    let near = (*again - number).abs() <= number.abs() * 1e-12 + 1e-300;
    assert!(near, "{again}, not {number}");
    *again = number;
}
