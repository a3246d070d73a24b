use strum::VariantArray;

use super::*;

#[test]
fn the_included_approaches_are_parsed() {
    for &task in TextTask::VARIANTS {
        let all = approaches::all(Task::Texts(task)).unwrap();
        assert_eq!(all[0].name, "riposte");
        for about in &all {
            let approach = TextApproach::find(task, &about.name).unwrap();
            assert!(!approach.source.is_empty(), "{}", about.name);
            assert_eq!(approach.source, about.source);
        }
    }
    let error = TextApproach::find(TextTask::Controversial, "nobody").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("riposte, riposte-dense, bm25, dirichlet"),
        "{error}"
    );
}

/// What judges whether documents are about a topic reads what re-ranking has read.
#[test]
fn the_default_approaches_read_what_presence_is_judged_by() {
    for &task in TextTask::VARIANTS {
        let approach = TextApproach::find(task, "riposte").unwrap();
        let read = approach.rerank.unwrap().read_windows();
        assert_eq!(read, ReadWindows::DEFAULT, "{task:?}");
    }
}

#[test]
fn only_the_tasks_of_the_lab_leave_documents_out_by_default() {
    let recipe = "name = \"x\"\n[[retrieval]]\nanalyzer = \"stem=porter\"\n\
        similarity = { name = \"dph\" }\nfields = { text = 1.0 }\n";
    let keeps = |task, more: &str| {
        let text = format!("{recipe}{more}");
        let approach: TextApproach = approaches::parse(Task::Texts(task), &text).unwrap();
        let keeps = approach.keeps();
        (keeps.short, keeps.duplicates)
    };
    assert_eq!(keeps(TextTask::Controversial, ""), (false, false));
    assert_eq!(keeps(TextTask::Comparative, ""), (false, false));
    assert_eq!(keeps(TextTask::Rank, ""), (true, true));
    let own = "[keep]\nduplicates = true";
    assert_eq!(keeps(TextTask::Rank, own), (false, true));
}

#[test]
fn unknown_keys_and_impossible_values_are_errors() {
    let good = r#"
        name = "x"
        source = "y"
        [[retrieval]]
        analyzer = "stop=lucene stem=porter"
        similarity = { name = "dirichlet", mu = 2000.0 }
        fields = { premises = 1.0, conclusion = 0.5 }
        must = ["premises"]
        [rerank]
        depth = 50
        weights = { retrieval = 1.0, sentence = 0.5 }
    "#;
    let parse =
        |text: &str| approaches::parse::<TextApproach>(Task::Texts(TextTask::Controversial), text);
    parse(good).unwrap();
    for (from, to, message) in [
        ("mu = 2000.0", "lambda = 2000.0", "mu"),
        ("mu = 2000.0", "mu = -1.0", "mu"),
        ("dirichlet", "dirichlet3", "dirichlet3"),
        ("stem=porter", "stem=none-such", "none-such"),
        ("premises = 1.0", "premises = -1.0", "0 or more"),
        ("[\"premises\"]", "[\"title\"]", "title must match"),
        ("sentence = 0.5", "sentences = 0.5", "sentences"),
        ("sentence = 0.5", "cross = -0.5", "cross must be 0 or more"),
        (
            "name = \"x\"",
            "name = \"x\"\nfusion = { name = \"borda\" }",
            "fusion of one",
        ),
        (
            "depth = 50",
            "depth = 50\nwindows = { words = 0, step = 1, most = 1 }",
            "above 0",
        ),
        ("depth = 50", "deep = 50", "deep"),
        ("depth = 50", "depth = 50\nabove_zero = true", "above 0"),
        (
            "[rerank]",
            "[pairwise]\ndepth = 1\nweights = { side = 1.0 }\n[rerank]",
            "above 1",
        ),
        (
            "[rerank]",
            "[pairwise]\ndepth = 9\nweights = { side = -1.0 }\n[rerank]",
            "side must be 0 or more",
        ),
    ] {
        let error = format!("{:#}", parse(&good.replace(from, to)).unwrap_err());
        assert!(error.contains(message), "{to}: {error}");
    }
}

#[test]
fn a_run_can_have_many_documents() {
    let found = |task, hits| {
        let settings = [Setting::hits(hits)];
        let found = TextApproach::find_with(task, "bm25", &settings);
        found.map_err(|error| error.to_string())
    };
    let approach = found(TextTask::Rank, 2000).unwrap();
    assert_eq!((approach.depth, approach.retrieval[0].depth), (2000, 2000));
    assert_eq!(approach.set, ["hits=2000"]);
    let approach = found(TextTask::Rank, 10).unwrap();
    assert_eq!((approach.depth, approach.retrieval[0].depth), (10, 1000));
    for task in [
        TextTask::Rank,
        TextTask::Controversial,
        TextTask::Comparative,
    ] {
        found(task, 100_000).unwrap();
        assert_eq!(
            found(task, 100_001).unwrap_err(),
            "--hits 100001: a query has at most 100000 documents in a run, not 100001"
        );
    }
    let service = |hits| {
        let found =
            TextApproach::find_with(TextTask::Comparative, "chatnoir", &[Setting::hits(hits)]);
        found.map_err(|error| error.to_string())
    };
    service(1000).unwrap();
    assert_eq!(
        service(1001).unwrap_err(),
        "--hits 1001: a search engine is asked for at most 1000 documents, not 1001"
    );
    // a sum is the score of the whole run
    let sum = "rerank={ depth = 1500, combine = \"sum\", weights = { retrieval = 1.0 } }";
    let sum = |hits| [Setting::key(sum).unwrap(), Setting::hits(hits)];
    TextApproach::find_with(TextTask::Rank, "bm25", &sum(1500)).unwrap();
    let error = TextApproach::find_with(TextTask::Rank, "bm25", &sum(1501)).unwrap_err();
    assert!(
        error.to_string().contains("it needs depth = 1501"),
        "{error}"
    );
}

#[test]
fn a_setting_is_checked_like_a_file_and_its_text_is_a_recipe() {
    let find = |setting: &str| {
        let settings = [Setting::key(setting).unwrap()];
        TextApproach::find_with(TextTask::Controversial, "bm25", &settings)
    };
    let approach = find("retrieval.similarity.k1=7").unwrap();
    let whole: TextApproach =
        approaches::parse(Task::Texts(TextTask::Controversial), &approach.text).unwrap();
    assert_eq!(
        whole.retrieval[0].similarity,
        approach.retrieval[0].similarity
    );
    assert!(approach.text.contains("k1 = 7"), "{}", approach.text);
    for (setting, message) in [
        (
            "retrieval.similarity.b=2",
            "--set retrieval.similarity.b=2: bm25: b must be from 0 to 1, not 2",
        ),
        (
            "depth=1e9",
            "--set depth=1e9: invalid type: floating point `1000000000.0`, expected usize",
        ),
        (
            "retrieval.must=[\"title\"]",
            "--set retrieval.must=[\"title\"]: title must match, but is not among the fields",
        ),
    ] {
        assert_eq!(find(setting).unwrap_err().to_string(), message);
    }
}
