"""Compares PyTerrier transformers with the rankings and measures of the command line."""

import gzip
import json
import os
from pathlib import Path

import generated
import pandas as pd
import pyterrier as pt
import pytest
from conftest import REPOSITORY
from ir_measures import AP, P, nDCG
from pandas.testing import assert_frame_equal

import riposte

TOPICS = pd.DataFrame([[str(n + 1), f"Are {subject} good?"] for n, subject in enumerate(generated.SUBJECTS)], columns=["qid", "query"])
QRELS = pd.DataFrame(generated.judgements(), columns=["qid", "docno", "label"])


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> riposte.pt.Index:
    return riposte.pt.Indexer(tmp_path_factory.mktemp("documents")).index(generated.documents())


@pytest.fixture(scope="module")
def arguments(tmp_path_factory) -> riposte.pt.Index:
    generated.write_arguments(directory := tmp_path_factory.mktemp("arguments"))
    return riposte.pt.Index(directory)


@pytest.fixture(scope="module")
def passages(tmp_path_factory) -> riposte.pt.Index:
    generated.write_passages(directory := tmp_path_factory.mktemp("passages"))
    return riposte.pt.Index(directory)


def ranked_by_the_command_line(index: riposte.pt.Index, approach: str, out: Path) -> pd.DataFrame:
    queries = out / "queries.jsonl"
    queries.write_text("".join(json.dumps({"qid": qid, "query": query}) + "\n" for qid, query in TOPICS.itertuples(index=False)))
    riposte.run([index.task, "-q", "-i", index.path, "-o", out, "--topics", queries, "--approach", approach])
    names = ["qid", "second", "docno", "rank", "score", "tag"]
    return pd.read_csv(out / "run.txt", sep=" ", names=names, dtype={"qid": str, "docno": str, "score": float})


@pytest.mark.parametrize("approach", ["bm25", "dirichlet", "dph"])
def test_it_ranks_what_the_command_line_ranks(index, approach, tmp_path):
    expected = ranked_by_the_command_line(index, approach, tmp_path)
    found = index.approach(approach)(TOPICS)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank"]
    assert len(found) > 50 and set(found["qid"]) == set(TOPICS["qid"])
    assert_frame_equal(found[["qid", "docno", "score"]], expected[["qid", "docno", "score"]])
    assert list(found["rank"] + 1) == list(expected["rank"])
    assert found["rank"].dtype == "int64" and found["score"].dtype == "float64"
    assert all(isinstance(value, str) for column in ("qid", "query", "docno") for value in found[column])


def test_an_experiment_measures_what_riposte_evaluate_measures(index, tmp_path):
    measures = [nDCG @ 10, P @ 10, AP]
    retrievers = [index.bm25(), index.approach("dirichlet") % 7]
    table = pt.Experiment(retrievers, TOPICS, QRELS, measures, names=["bm25", "dirichlet"])
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{qid} 0 {docno} {label}\n" for qid, docno, label in QRELS.itertuples(index=False)))
    for row, retriever in enumerate(retrievers):
        run = tmp_path / f"{row}.txt"
        pt.io.write_results(retriever(TOPICS), str(run))
        said = riposte.run(["evaluate", qrels, run, "nDCG@10", "P@10", "AP", "--format", "jsonl"]).stdout
        values = {line["measure"]: line["value"] for line in map(json.loads, said.splitlines()) if line["topic"] == "all"}
        for measure in measures:
            assert values[str(measure)] == pytest.approx(table[str(measure)][row], abs=1e-9)
            assert 0.05 < table[str(measure)][row] < 0.95
    assert table["AP"][0] != table["AP"][1]


def test_pipelines(index):
    bm25, dirichlet = index.bm25(), index.approach("dirichlet")
    one, other = bm25(TOPICS), dirichlet(TOPICS)
    scores = {(row.qid, row.docno): row.score for row in one.itertuples()}
    others = {(row.qid, row.docno): row.score for row in other.itertuples()}

    shortest = pt.apply.doc_score(lambda row: -float(len(row["text"])))
    pipeline = index.bm25() >> index.text_loader("text") >> shortest % 10
    found = pipeline(TOPICS)
    lengths = {document["docno"]: len(document["text"]) for document in generated.documents()}
    for qid, group in found.groupby("qid"):
        best = sorted((lengths[docno] for q, docno in scores if q == qid))[:10]
        assert list(group.sort_values("rank")["score"]) == [-length for length in best]

    added = (bm25 + dirichlet)(TOPICS)
    assert len(added) == len(scores.keys() | others.keys())
    for row in added.itertuples():
        assert row.score == pytest.approx(scores.get((row.qid, row.docno), 0) + others.get((row.qid, row.docno), 0))
    either = (bm25 | dirichlet % 3)(TOPICS)
    assert {(row.qid, row.docno) for row in either.itertuples()} == scores.keys() | {key for key in others if key in top(other, 3)}
    assert {(row.qid, row.docno) for row in (bm25 & dirichlet % 3)(TOPICS).itertuples()} == top(other, 3) & scores.keys()
    assert list((2 * bm25)(TOPICS)["score"]) == [2 * score for score in one["score"]]

    features = (bm25 % 5 >> (dirichlet ** index.approach("dph")))(TOPICS)
    assert {(row.qid, row.docno) for row in features.itertuples()} == top(one, 5)
    assert all(len(row.features) == 2 for row in features.itertuples())
    assert all(row.features[0] == others[row.qid, row.docno] for row in features.itertuples())


def top(found: pd.DataFrame, count: int) -> set[tuple[str, str]]:
    return {(row.qid, row.docno) for row in found.itertuples() if row.rank < count}


def test_a_cutoff_becomes_part_of_the_retriever(index):
    compiled = (index.bm25() % 3).compile()
    assert compiled == index.bm25(num_results=3)
    assert_frame_equal(compiled(TOPICS), (index.bm25() % 3)(TOPICS))
    assert (index.bm25(num_results=2) % 5).compile() == index.bm25(num_results=2)
    assert index.bm25() != index.approach("dph") and hash(index.bm25()) == hash(index.bm25())
    assert repr(index.bm25(num_results=3)).endswith("approach='bm25', num_results=3)")
    for wrong in (0, 100_001):
        with pytest.raises(ValueError, match="from 1 to 100000"):
            index.bm25(num_results=wrong)


def test_more_than_a_thousand_documents_are_found(tmp_path):
    documents = [{"docno": f"d{n}", "text": "cat " * (1 + n % 5) + "dog " * (n % 7)} for n in range(1500)]
    index = riposte.pt.Indexer(tmp_path / "many").index(documents)
    query = pd.DataFrame([["1", "cat"]], columns=["qid", "query"])
    assert len(index.bm25()(query)) == 1000
    assert len(index.bm25(num_results=1200)(query)) == 1200
    whole = index.bm25(num_results=1500)(query)
    assert len(whole) == 1500
    # documents that were found before are ranked anew, however far down they are
    assert len((index.bm25(num_results=1500) >> index.approach("dph", num_results=1500))(query)) == 1500


def test_more_than_a_thousand_arguments_are_found_with_a_warning(tmp_path):
    words = "Cats are clean and quiet animals that need little room and little time, and so they suit people who are away for most of the day."
    arguments = [
        {"id": f"a{n}", "conclusion": "cats are good pets", "premises": [{"text": f"{words} Number {n} says so.", "stance": "PRO"}], "context": {}}
        for n in range(1300)
    ]
    (tmp_path / "args-me.json").write_text(json.dumps({"arguments": arguments}))
    index = riposte.pt.Index(tmp_path, index=tmp_path / "index")
    query = pd.DataFrame([["1", "Are cats good pets?"]], columns=["qid", "query"])
    first = index.bm25()(query)
    assert len(first) == 1000
    with pytest.warns(riposte.RiposteWarning, match="1300 documents for a topic, and the lab takes at most 1000"):
        found = index.bm25(num_results=1300)(query)
    assert len(found) == 1300
    assert found["docno"].tolist()[:1000] == first["docno"].tolist()


def test_settings_change_the_approach(index):
    settings = {"retrieval.similarity.k1": 3, "retrieval.fields": {"title": 0, "text": 1.5}}
    changed, plain = index.bm25(settings=settings), index.bm25()
    assert changed != plain and "settings=" in repr(changed)
    assert list(changed(TOPICS)["score"]) != list(plain(TOPICS)["score"])
    assert (changed % 3).compile() == index.bm25(settings=settings, num_results=3)
    named = {"retrieval.similarity.name": "bm25", "retrieval.must": ["text"]}
    assert not index.bm25(settings=named)(TOPICS).empty
    with pytest.raises(riposte.RiposteError, match="b must be from 0 to 1"):
        index.bm25(settings={"retrieval.similarity.b": 2})(TOPICS)


def test_documents_are_ranked_anew(index):
    bm25, dirichlet = index.bm25(num_results=5), index.approach("dirichlet")
    found = (bm25 >> dirichlet)(TOPICS)
    whole = {(row.qid, row.docno): row.score for row in dirichlet(TOPICS).itertuples()}
    assert top(found, 1000) == top(bm25(TOPICS), 1000) & whole.keys()
    assert all(row.score == whole[row.qid, row.docno] for row in found.itertuples())
    for _, group in found.groupby("qid"):
        assert sorted(group["rank"]) == list(range(len(group)))
        assert list(group.sort_values("rank")["score"]) == sorted(group["score"], reverse=True)
    assert (bm25 >> index.approach("dirichlet", num_results=2))(TOPICS).groupby("qid").size().max() == 2
    # a document that the collection does not have is left out
    strange = pd.DataFrame([["1", TOPICS["query"][0], "no-such-document"]], columns=["qid", "query", "docno"])
    assert dirichlet(strange).empty


def test_columns_of_the_input_are_kept(index):
    queries = TOPICS.head(2).assign(query_0=["a", "b"], score=[7, 8], rank=[0, 0], number=[1.5, 2.5])
    found = index.bm25()(queries)
    assert list(found.columns) == ["qid", "query", "query_0", "number", "docno", "score", "rank"]
    assert set(zip(found["qid"], found["query_0"], found["number"])) == {("1", "a", 1.5), ("2", "b", 2.5)}
    assert list(queries.columns) == ["qid", "query", "query_0", "score", "rank", "number"]  # the input is unchanged
    shuffled = TOPICS.iloc[[3, 0]]
    assert list(dict.fromkeys(index.bm25()(shuffled)["qid"])) == ["4", "1"]


def test_empty_frames_give_empty_frames(index, passages, monkeypatch):
    for retriever, columns in [
        (index.bm25(), ["qid", "query", "docno", "score", "rank"]),
        (passages.bm25(), ["qid", "query", "docno", "score", "rank", "stance"]),
        (passages.bm25(stances=False), ["qid", "query", "docno", "score", "rank"]),
        (index.bm25() >> index.text_loader(), ["qid", "query", "docno", "score", "rank", "text", "title"]),
    ]:
        monkeypatch.setenv("RIPOSTE_BINARY", "/nowhere")  # without queries, the program is not started
        found = retriever(pd.DataFrame(columns=["qid", "query"]))
        assert (list(found.columns), len(found)) == (columns, 0)
        assert pt.inspect.transformer_outputs(retriever, ["qid", "query"]) == columns
    annotated = riposte.pt.StanceAnnotator()(pd.DataFrame(columns=["query", "text"]))
    assert list(annotated.columns) == ["query", "text", "stance", "stance_pro", "stance_con", "stance_neither"]
    for transformer, inputs in [
        (index.bm25(), ["qid", "query"]),
        (index.text_loader(), ["docno"]),
        (riposte.pt.StanceAnnotator(), ["query", "text"]),
    ]:
        assert pt.inspect.transformer_inputs(transformer) == [inputs]
        with pytest.raises(pt.validate.InputValidationError):
            transformer(pd.DataFrame({"x": [1]}))


def test_a_query_that_finds_nothing_has_no_rows(index):
    found = index.bm25()(pd.DataFrame([["1", "xylophone"], ["2", "the"], ["3", "nuclear"]], columns=["qid", "query"]))
    assert set(found["qid"]) == {"3"}


HOSTILE = [
    ("a b", 'nuclear "energy"'),
    ("", "nuclear\nenergy\r\n\tenergy"),
    ("ü/😀", "😀 nuclear 'energy' \\ \\n"),
    ("{}", '{"qid": 1}, nuclear'),
    ("\n", "<title>nuclear</title> &amp; \x00 \x1b[2J"),
    ("-1", "--output nuclear"),
    ("query-1", "nuclear " * 5000),
    ("x\u2028y", "nuclear\u2028energy\u202e"),
]


def test_any_query_and_any_qid_will_do(index):
    found = index.bm25()(pd.DataFrame(HOSTILE, columns=["qid", "query"]))
    assert list(dict.fromkeys(found["qid"])) == [qid for qid, _ in HOSTILE]
    assert dict(zip(found["qid"], found["query"])) == dict(HOSTILE)
    plain = index.bm25()(pd.DataFrame([["1", "nuclear energy"]], columns=["qid", "query"]))
    for qid in ("a b", ""):
        assert set(found[found["qid"] == qid]["docno"]) == set(plain["docno"])
    numbers = index.bm25()(pd.DataFrame({"qid": [7, 8], "query": ["nuclear", "cars"]}))
    assert set(numbers["qid"]) == {"7", "8"}


def test_queries_that_cannot_be_asked_are_named(index):
    with pytest.warns(riposte.RiposteWarning, match="find nothing: qid 'two', 'three'"):
        found = index.bm25()(pd.DataFrame([["one", "nuclear"], ["two", ""], ["three", " \n"]], columns=["qid", "query"]))
    assert set(found["qid"]) == {"one"}
    for rows, message in [
        ([["1", "a"], ["2", None]], "the query of qid '2' is"),
        ([["1", 7]], "the query of qid '1' is 7, not a string"),
        ([["1", "a\ud800"]], "half a surrogate pair"),
        ([["1", "a"], ["1", "a"]], "qid '1' occurs twice"),
        ([["1", "a"], [None, "a"]], "the qid of row 1 is missing"),
    ]:
        with pytest.raises(ValueError, match=message):
            index.bm25()(pd.DataFrame(rows, columns=["qid", "query"], dtype=object))
    with pytest.raises(ValueError, match="qid '1' occurs twice, with two queries"):
        index.bm25()(pd.DataFrame([["1", "a", "d1"], ["1", "b", "d2"]], columns=["qid", "query", "docno"]))
    with pytest.raises(riposte.RiposteError, match="bm25"):
        index.approach("bm52")(TOPICS)


def test_options_reach_riposte(index, tmp_path):
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'name = "mine"\n[[retrieval]]\nanalyzer = "stop=none stem=none"\nsimilarity = { name = "bm25", k1 = 0.9, b = 0.4 }\nfields = { title = 1.0 }\n'
    )
    mine = index.approach(recipe, threads=1, numeric="float", num_results=1)
    found = mine(pd.DataFrame([["1", "part 17"]], columns=["qid", "query"]))
    assert list(found["docno"]) == ["d17"]
    topics = TOPICS.head(1).assign(query="voting", description="nuclear energy", narrative="space")
    plain, described = index.bm25()(topics), index.bm25(use=["description"])(topics)
    assert top(plain, 1000) < top(described, 1000)
    with pytest.raises(riposte.RiposteError, match="threads"):
        index.bm25(threads=0)(TOPICS)


def test_notes_become_warnings(index):
    with pytest.warns(riposte.RiposteWarning, match="note: sentence vectors are off"):
        assert len(index.retriever()(TOPICS.head(1)))


def test_what_is_indexed_is_found_and_read_again(tmp_path):
    documents = generated.documents(40)
    index = (pt.apply.generic(lambda frame: frame.assign(text=frame["text"] + " zebra")) >> riposte.pt.Indexer(tmp_path / "new")).index(
        iter(documents)
    )
    assert index.task == "rank" and index.path == tmp_path / "new"
    assert sorted(file.name for file in index.path.iterdir()) == ["documents.jsonl", "pt_meta.json"]
    found = (index.bm25() >> index.text_loader())(pd.DataFrame([["1", "zebra"]], columns=["qid", "query"]))
    expected = {document["docno"]: (document["text"] + " zebra", document["title"]) for document in documents}
    assert {row.docno: (row.text, row.title) for row in found.itertuples()} == expected
    # the collection is written again, over the existing one
    with pytest.raises(FileExistsError, match="overwrite=True"):
        riposte.pt.Indexer(index.path).index(documents)
    frame = pd.DataFrame([{"docno": "1", "text": "zebra"}, {"docno": "2", "text": "gnu", "title": "zebra"}, {"docno": "3", "text": "", "more": 1}])
    again = riposte.pt.Indexer(index.path, overwrite=True, threads=1).index(frame)
    assert set(again.bm25().search("zebra")["docno"]) == {"1", "2"}


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([{"docno": "a", "text": "x"}, {"docno": "a", "text": "y"}], r"two documents have the docno 'a': the second is document 1"),
        ([{"docno": "a", "text": "x"}, {"text": "y"}], r"document 1 \(from 0\) has no docno"),
        ([{"docno": "a"}], "document 'a' has no text"),
        ([{"docno": "a", "text": None}], "the text of document 'a' is None, not a string"),
        ([{"docno": "a", "text": "x\udfff"}], "the text of document 'a' .* surrogate"),
        ([{"docno": "a", "text": "x", "title": 3}], "the title of document 'a' is 3"),
        ([{"docno": "a b", "text": "x"}], "'a b', which has a blank"),
        ([{"docno": "a\u00a0b", "text": "x"}], "has a blank"),
        ([{"docno": "", "text": "x"}], r"the docno of document 0 \(from 0\) is empty"),
        ([{"docno": 3, "text": "x"}], "is 3, not a string"),
        ([], "there is no document"),
    ],
)
def test_documents_that_cannot_be_indexed_are_named(tmp_path, documents, message):
    (tmp_path / "documents.jsonl").write_text("before")
    with pytest.raises(ValueError, match=message):
        riposte.pt.Indexer(tmp_path, overwrite=True).index(documents)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("documents.jsonl", "before")]


def test_an_indexer_takes_no_place_of_another_collection(tmp_path, arguments):
    with pytest.raises(ValueError, match="has args-me.json already"):
        riposte.pt.Indexer(arguments.path)
    (tmp_path / "topics.xml").write_text("<topics/>")
    with pytest.raises(ValueError, match="has topics.xml already"):
        riposte.pt.Indexer(tmp_path)


def test_a_directory_without_a_collection_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no collection of texts"):
        riposte.pt.Index(tmp_path)
    with pytest.raises(NotADirectoryError):
        riposte.pt.Index(tmp_path / "nowhere")


def test_arguments_are_ranked_by_an_approach_of_task_1(arguments, tmp_path):
    assert arguments.task == "controversial"
    expected = ranked_by_the_command_line(arguments, "elrond", tmp_path)
    found = arguments.approach("elrond", num_results=5)(TOPICS)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank"]
    assert len(found) == 5 * len(TOPICS)
    best = expected[expected["rank"] <= 5].reset_index(drop=True)
    assert_frame_equal(found[["qid", "docno", "score"]], best[["qid", "docno", "score"]])
    read = arguments.text_loader()(found)
    stored = {a["id"]: a for a in json.loads((arguments.path / "args-me.json").read_text())["arguments"]}
    for row in read.itertuples():
        premise = stored[row.docno]["premises"][0]
        assert (row.text, row.conclusion, row.premise_stance) == (premise["text"], stored[row.docno]["conclusion"], premise["stance"])


def test_passages_have_stances(passages):
    topics = pd.DataFrame([["1", "Are cats better than dogs?"], ["2", "history of Egypt"]], columns=["qid", "query"])
    found = passages.bm25()(topics)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank", "stance"]
    stances = {(row.qid, row.docno): row.stance for row in found.itertuples()}
    assert stances["1", "page-0___1"] == "FIRST" and stances["1", "page-1___1"] == "SECOND"
    assert stances["2", "page-3___1"] is None
    with pytest.warns(riposte.RiposteWarning, match="topic 2 .* does not name two objects"):
        passages.bm25()(topics)
    # with the objects in the opposite order
    turned = passages.bm25()(topics.head(1).assign(query="cats dogs", objects=[("dogs", "cats")]))
    stances = dict(zip(turned["docno"], turned["stance"]))
    assert (stances["page-0___1"], stances["page-1___1"]) == ("SECOND", "FIRST")
    assert turned["objects"][0] == ("dogs", "cats")
    # an object can contain a comma
    named = passages.bm25()(topics.head(1).assign(query="cats dogs", objects=[["cats, all of them", "dogs"]]))
    assert dict(zip(named["docno"], named["stance"]))["page-1___1"] == "SECOND"
    with pytest.raises(ValueError, match="the objects of qid '1' are"):
        passages.bm25()(topics.head(1).assign(objects=[["dogs"]]))
    assert "stance" not in passages.bm25(stances=False)(topics)
    loaded = passages.text_loader()(found)
    assert dict(zip(loaded["docno"], loaded["text"])).items() <= {f"page-{n}___1": words for n, words in enumerate(generated.PASSAGES)}.items()
    assert set(loaded["url"]) <= {f"https://example.org/{n}" for n in range(4)}


def test_texts_are_read_from_any_file_of_documents(tmp_path):
    lines = [json.dumps({"_id": str(n), "title": f"T{n}", "text": f"ü{n}\u2028line"}, ensure_ascii=False) for n in range(3)]
    lines[1:1] = ["{broken", ""]
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    frame = pd.DataFrame({"docno": ["2", "9", "0", "2"]}, index=[5, 5, 7, 8])
    index = riposte.pt.Index(tmp_path)
    loaded = pt.text.get_text(index, ["title", "text"])(frame)
    assert list(loaded["text"]) == ["ü2\u2028line", None, "ü0\u2028line", "ü2\u2028line"]
    assert list(loaded["title"]) == ["T2", None, "T0", "T2"] and list(loaded.index) == [5, 5, 7, 8]
    with pytest.raises(ValueError, match="no field body; it has text, title"):
        index.text_loader("body")


def test_texts_of_arguments_are_read_in_blocks(tmp_path):
    long = "word " * 250_000  # more than a block
    texts = [long, 'a "quoted" [brace} \\', long + "end", "last"]
    arguments = [
        {"id": f"a{n}", "conclusion": "c", "premises": [{"text": words, "stance": "CON"}, {"text": "more"}]} for n, words in enumerate(texts)
    ]
    (tmp_path / "args-me.json").write_text(json.dumps({"version": 1, "arguments": arguments, "after": [{"id": "a9"}]}, indent=1))
    index = riposte.pt.Index(tmp_path)
    loaded = index.text_loader("text")(pd.DataFrame({"docno": ["a3", "a2", "a1", "a0", "a9"]}))
    assert list(loaded["text"]) == ["last\nmore", long + "end\nmore", texts[1] + "\nmore", long + "\nmore", None]
    whole = (tmp_path / "args-me.json").read_text()
    (tmp_path / "args-me.json").write_text(whole[: whole.index('"a3"')])
    with pytest.raises(ValueError, match="args-me.json cannot be read further"):
        index.text_loader("text")(pd.DataFrame({"docno": ["a3"]}))


def test_stances_towards_queries_and_objects():
    texts = pd.DataFrame(
        [
            ["Should we ban cars?", "Cars are bad, they kill people, and a ban is right."],
            ["Should we ban cars?", "We should not ban cars."],
            ['"Odd"\n😀 question?', "!!!\n\x00"],
        ],
        columns=["query", "text"],
        index=[4, 4, 9],
    )
    with pytest.warns(riposte.RiposteWarning, match="stance is estimated from words only"):
        found = riposte.pt.StanceAnnotator()(texts)
    assert list(found.index) == [4, 4, 9] and list(found["text"]) == list(texts["text"])
    assert list(found["stance"]) == ["PRO", "CON", "NEITHER"]
    sums = found[["stance_pro", "stance_con", "stance_neither"]].sum(axis=1)
    assert sums.to_numpy() == pytest.approx([1, 1, 1])
    lines = "".join(json.dumps({"topic": query, "text": text}) + "\n" for query, text in texts.itertuples(index=False))
    said = [json.loads(line) for line in riposte.run(["stance", "--jsonl", "-"], input=lines).stdout.splitlines()]
    for row, answer in zip(found.itertuples(), said, strict=True):
        values = [answer[name] for name in ("stance", "pro", "con", "neither")]
        assert [row.stance, row.stance_pro, row.stance_con, row.stance_neither] == values and row.text == answer["text"]

    two = pd.DataFrame({"words": [generated.PASSAGES[0], generated.PASSAGES[1]], "objects": [["cats", "dogs"], ("cats", "dogs")]})
    annotator = riposte.pt.StanceAnnotator(towards="objects", text="words")
    with pytest.warns(riposte.RiposteWarning):
        found = annotator(two)
    assert list(found["stance"]) == ["FIRST", "SECOND"]
    assert found[["stance_first", "stance_second", "stance_neutral", "stance_no"]].sum(axis=1).to_numpy() == pytest.approx([1, 1])
    assert repr(annotator) == "riposte.pt.StanceAnnotator(towards='objects', text='words')"


def test_what_an_annotator_cannot_read_is_named():
    annotator = riposte.pt.StanceAnnotator()
    with pytest.warns(riposte.RiposteWarning, match="the topic is empty"):
        found = annotator(pd.DataFrame({"query": ["", "Ban cars?"], "text": ["a", "b"]}))
    assert found["stance"][0] is None and found["stance"][1] is not None
    assert found["stance_pro"].isna().tolist() == [True, False]
    with pytest.warns(riposte.RiposteWarning, match="all queries are empty"):
        assert annotator(pd.DataFrame({"query": [" "], "text": ["a"]}))["stance"].tolist() == [None]
    for rows, message in [
        ({"query": ["a"], "text": [None]}, "the text of row 0 is None"),
        ({"query": [3], "text": ["b"]}, "the query of row 0 is 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            annotator(pd.DataFrame(rows, dtype=object))
    with pytest.raises(ValueError, match="the objects of row 0"):
        riposte.pt.StanceAnnotator(towards="objects")(pd.DataFrame({"objects": [["a", " "]], "text": ["b"]}))
    with pytest.raises(ValueError, match="'query' or 'objects'"):
        riposte.pt.StanceAnnotator(towards="qid")


def test_pyterrier_describes_the_transformers(index):
    indexer = riposte.pt.Indexer(index.path)
    assert pt.inspect.indexer_inputs(indexer) == [["docno", "text"], ["docno", "text", "title"]]
    loaded = index.bm25() >> index.text_loader() >> riposte.pt.StanceAnnotator()
    drawn = pt.schematic.draw(loaded) + pt.schematic.draw(indexer)
    assert all(f">{label}<" in drawn for label in ("bm25", "texts", "stance", "riposte"))
    assert pt.schematic.transformer_schematic(index.approach("x/long-name-of-an-approach.toml"))["label"] == "long-name-of-an-appr"


def test_many_queries_are_one_run(index, monkeypatch, tmp_path):
    """Starting the program for each query would take too long."""
    count = tmp_path / "count"
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho x >> {count}\nexec {os.environ["RIPOSTE_BINARY"]} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("RIPOSTE_BINARY", str(wrapper))
    queries = pd.DataFrame({"qid": map(str, range(300)), "query": ["nuclear energy"] * 300})
    found = index.bm25(num_results=2)(queries)
    assert len(found) == 600 and count.read_text() == "x\n"


def test_a_quality_is_that_of_the_command_line_and_can_rank(index):
    frame = (index.bm25() % 4 >> index.text_loader())(TOPICS)
    rated = riposte.pt.QualityAnnotator()(frame)
    expected = riposte.quality(list(zip(frame["query"], frame["text"])))["quality"]
    assert rated["quality"].tolist() == expected.tolist() and rated["score"].tolist() == frame["score"].tolist()
    ranked = riposte.pt.QualityAnnotator(as_score=True)(frame)
    assert ranked["score"].tolist() == expected.tolist()
    for _, of in ranked.groupby("qid"):
        assert of.sort_values("rank")["score"].is_monotonic_decreasing


def test_a_cross_encoder_ranks_as_sentence_transformers_does(index, tmp_path):
    """The scores of a small model with random weights (tests/reference/encoders.py)."""
    reference = REPOSITORY / "tests/reference"
    riposte.run(["models", "add", reference / "tiny-cross", "--models", tmp_path])
    pairs = [of for of in json.loads((reference / "tiny-cross.json").read_text()) if of["topic"] and of["text"]]
    rows = [(str(n // 2), of["topic"], of["text"], of["score"]) for n, of in enumerate(pairs)]
    # the same texts for a query with more than riposte puts in a list, and an index with gaps
    rows += [("many", rows[0][1], f"people {n % 1001}", None) for n in range(1010)]
    frame = pd.DataFrame(rows, columns=["qid", "query", "text", "expected"], index=range(7, 7 + 2 * len(rows), 2))
    cross = riposte.pt.CrossEncoder("tiny-cross", models=tmp_path)
    found = cross(frame)
    assert found["text"].tolist() == frame["text"].tolist() and len(found) == len(rows)
    many = found[found["qid"] == "many"]["score"].tolist()
    assert many[:9] == many[1001:] and len(set(many)) == 1001
    judged = found.dropna(subset="expected")
    assert judged["score"].to_numpy() == pytest.approx(judged["expected"].to_numpy(), abs=1e-4)
    for _, of in found.groupby("qid"):
        ordered = of.sort_values("rank")
        assert ordered["score"].is_monotonic_decreasing and ordered["rank"].tolist() == list(range(len(of)))
    again = (index.bm25() % 5 >> index.text_loader("text") >> cross)(TOPICS)
    assert {(row.qid, row.docno) for row in again.itertuples()} == top(index.bm25()(TOPICS), 5)
    assert cross(frame[:0]).columns.tolist() == found.columns.tolist() and repr(cross).startswith("riposte.pt.CrossEncoder(model='tiny-cross'")
    with pytest.raises(ValueError, match="the text of row 1 is empty"):
        cross(frame.assign(text=["a", " ", *frame["text"][2:]]))
    with pytest.raises(riposte.RiposteError, match="riposte models fetch ms-marco-minilm-l6"):
        riposte.pt.CrossEncoder(models=tmp_path)(frame)


def test_images_are_ranked_for_and_against(tmp_path):
    collection = riposte.Collection(REPOSITORY / "sample", evidence=tmp_path / "evidence.sqlite")
    topics = pd.DataFrame([["z", "Should zoos be closed?", 1], ["c", "Should cars be banned?", 2]], columns=["qid", "query", "more"])
    expected = collection.images(topics).to_frame()
    found = riposte.pt.ImageRetriever(collection)(topics)
    assert set(found.columns) == {"qid", "query", "more", "docno", "stance", "score", "rank"}
    assert set(zip(found["qid"], found["docno"], found["stance"])) == set(zip(expected["topic"], expected["document"], expected["stance"]))
    assert sorted(found[found["qid"] == "z"]["rank"]) == list(range(20))
    pro = riposte.pt.ImageRetriever(collection, "PRO")(topics)
    of_list = expected[expected["stance"] == "PRO"]
    assert pro["docno"].tolist() == of_list["document"].tolist() and (pro["rank"] + 1).tolist() == of_list["rank"].tolist()
    assert len(riposte.pt.ImageRetriever(collection)(topics.iloc[:0])) == 0
    with pytest.raises(ValueError, match="'pro'"):
        riposte.pt.ImageRetriever(collection, "pro")
