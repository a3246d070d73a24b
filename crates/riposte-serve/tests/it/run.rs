//! A ranking as a run.

use crate::stub::Running;

#[test]
fn a_ranking_is_written_as_a_run_of_texts_or_of_images() {
    let server = Running::start(|_| {});
    let texts = server.get("/run?q=Close+zoos%3F&qid=51&approach=bm25");
    assert_eq!(
        texts.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(
        texts.text(),
        "51 Q0 d1 1 0.300000 bm25\n51 Q0 d2 2 0.150000 bm25\n51 Q0 d3 3 0.100000 bm25\n"
    );
    let images = server.get("/run?q=Close+zoos%3F&kind=images&hits=1").text();
    assert_eq!(images, "1 CON d1 1 0.300000 riposte\n");
    for (path, status) in [
        ("/run", 400),
        ("/run?q=zoos&qid=a+b", 422),
        ("/run?q=zoos&qid=a%0Ab", 400),
        ("/run?q=attack", 422),
        ("/run?q=zoos&collection=none", 404),
        ("/run?q=zoos&tab=images", 400),
    ] {
        let refused = server.get(path);
        assert_eq!(refused.status, status, "{path}: {}", refused.text());
        assert!(!refused.error().is_empty());
    }
}
