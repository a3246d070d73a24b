//! An answer as a file to keep.

use std::sync::atomic::Ordering::SeqCst;

use crate::schema::assert_described;
use crate::stub::Running;

#[test]
fn a_report_is_a_file_with_what_was_asked() {
    let server = Running::start(|_| {});
    let path =
        "/report?q=+Close++zoos%3F&collection=debates&number=7&approach=bm25&claim=cages+are+bad";
    let report = server.get(path);
    assert_eq!(
        report.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(
        report.header("content-disposition"),
        Some("attachment; filename=\"report.html\"")
    );
    // the bytes are those of the desk
    assert_eq!(
        report.text(),
        "<!doctype html><script>1</script>DebateQuestion { question: \"Close zoos?\", collection: Some(\"debates\"), number: 7, \
         approach: Some(\"bm25\"), claim: Some(\"cages are bad\") } ä"
    );
    // it is kept, and is another answer than that of /api/debate
    assert_eq!(server.get(path).body, report.body);
    assert_eq!(server.stub.begun.load(SeqCst), 1);
    let debate = server.get(&path.replace("/report", "/api/debate"));
    assert_eq!(debate.json()["question"], "Close zoos?");
}

/// A browser that shows it all the same runs nothing in it, and does not take it for a page of the server.
#[test]
fn a_report_that_is_shown_is_in_a_sandbox() {
    let server = Running::start(|_| {});
    let report = server.get("/report?q=zoos");
    let policy = report.header("content-security-policy").unwrap();
    let mut directives = policy.split("; ");
    assert_eq!(directives.next(), Some("sandbox"), "it allows nothing");
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(!policy.contains("script-src"), "{policy}");
    // with another value, a page in a sandbox is not shown at all by the standard of HTML
    assert_eq!(
        report.header("cross-origin-opener-policy"),
        Some("unsafe-none")
    );
    assert_eq!(report.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(report.header("cache-control"), Some("no-store"));
}

#[test]
fn a_report_that_cannot_be_made_is_refused_and_no_file() {
    let server = Running::start(|_| {});
    for (query, status) in [
        ("", 400),
        ("q=zoos&number=101", 400),
        ("q=zoos&kind=images", 400),
        ("q=zoos&collection=none", 404),
        ("q=german", 422),
        ("q=panic", 500),
        ("q=damaged", 503),
    ] {
        let refused = server.get(&format!("/report?{query}"));
        assert_eq!(refused.status, status, "{query}: {}", refused.text());
        assert_described("/report", "get", &refused);
        assert_eq!(refused.header("content-disposition"), None, "{query}");
    }
    assert_eq!(server.browse("/report?q=damaged").status, 503);
}
