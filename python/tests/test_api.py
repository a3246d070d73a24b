"""The typed interface: what it returns is what the command line prints."""

import doctest
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import generated
import ir_measures
import pandas as pd
import pytest
from conftest import REPOSITORY
from pandas.testing import assert_frame_equal

import riposte
from riposte import _collection, _judge, _run, _server, _texts

SAMPLE = REPOSITORY / "sample"


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A directory with two runs and judgements: `one.txt`, `two.txt`, `qrels.txt`."""
    directory, chance = tmp_path_factory.mktemp("runs"), random.Random(4)
    documents = [f"d{n}" for n in range(30)]
    with open(directory / "qrels.txt", "w") as qrels:
        for topic in range(1, 21):
            qrels.writelines(f"{topic} 0 {docno} {chance.randrange(3)}\n" for docno in documents[:20])
    for name in ("one", "two"):
        with open(directory / f"{name}.txt", "w") as run:
            for topic in range(1, 21):
                ranked = chance.sample(documents, 25)
                run.writelines(f"{topic} Q0 {docno} {rank} {1 / (rank + chance.random() / 2):.6f} {name}\n" for rank, docno in enumerate(ranked, 1))
    return directory


@pytest.fixture(scope="module")
def pets(tmp_path_factory) -> Path:
    """The collection of the examples."""
    directory = tmp_path_factory.mktemp("pets")
    texts = {"d1": "Cats keep themselves clean.", "d2": "Dogs guard the house, and are pets."}
    (directory / "documents.jsonl").write_text("".join(json.dumps({"docno": id, "text": text}) + "\n" for id, text in texts.items()))
    return directory


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> riposte.Run:
    """The run of the sample, explained."""
    evidence = tmp_path_factory.mktemp("images") / "evidence.sqlite"
    return riposte.Collection(SAMPLE, evidence=evidence).rank(explain=True)


pytestmark = pytest.mark.filterwarnings("ignore::riposte.RiposteWarning")


def printed(words: list[object]) -> dict[str, list[dict]]:
    return json.loads(riposte.run(["evaluate", "--format", "json", *words]).stdout)


@pytest.mark.parametrize("module", [_collection, _judge, _run, _server, _texts], ids=lambda module: module.__name__)
def test_the_examples_of_the_documentation_run(module, pets, tmp_path, monkeypatch, own_server):
    shutil.copytree(pets, tmp_path / "pets")
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(module, globs={"riposte": riposte}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried and not failed


def test_values_are_those_of_the_command_line_to_the_last_digit(runs):
    paths, measures = [runs / "one.txt", runs / "two.txt"], ["nDCG@10", "AP", "P(rel=2)@5", "RR"]
    words = ["--qrels", runs / "qrels.txt", *paths, *measures]
    frame = riposte.evaluate(paths, runs / "qrels.txt", measures, by_topic=True, ci=True)
    expected = printed(["--by-topic", "--ci", *words])["values"]
    rows = [(v["run"], v["measure"], v["topic"], v["value"]) for v in expected if v["topic"] not in ("all.low", "all.high")]
    assert len(rows) == 2 * 4 * 21
    assert list(frame[["run", "measure", "topic", "value"]].itertuples(index=False, name=None)) == rows
    bounds = {(v["run"], v["measure"], v["topic"]): v["value"] for v in expected}
    means = frame[frame["topic"] == "all"]
    for row in means.itertuples():
        assert (row.low, row.high) == (bounds[row.run, row.measure, "all.low"], bounds[row.run, row.measure, "all.high"])
        assert row.low < row.value < row.high
    assert frame[frame["topic"] != "all"]["low"].isna().all()


@pytest.mark.parametrize("correction", ["none", "bonferroni", "holm", "tukey"])
def test_comparisons_are_those_of_the_command_line(runs, correction):
    (runs / "three.txt").write_text((runs / "one.txt").read_text().replace(" one\n", " three\n"))
    of = {"a": runs / "one.txt", "b": runs / "two.txt", "c": runs / "three.txt"}
    words = ["--correction", correction, "--qrels", runs / "qrels.txt", *(f"{name}={path}" for name, path in of.items()), "AP", "RR"]
    expected = printed(words)["comparisons"]
    frame = riposte.compare(of, runs / "qrels.txt", ["AP", "RR"], correction=correction)
    assert len(frame) == 6
    for row, one in zip(frame.to_dict("records"), expected, strict=True):
        assert {name: value for name, value in row.items() if value == value} == {name: value for name, value in one.items() if value is not None}
    values = riposte.evaluate(of, runs / "qrels.txt", ["AP", "RR"], compare=True, correction=None if correction == "none" else correction)
    means = dict(zip(zip(values["run"], values["measure"]), values["value"]))
    pairs = {(row["first"], row["second"], row["measure"]): row for row in expected}
    for row in values.to_dict("records"):
        if row["run"] == "a":
            assert row["p"] != row["p"] and row["significant"] is None
        else:
            pair = pairs["a", row["run"], row["measure"]]
            assert (row["difference"], row["p"], row["significant"]) == (pair["difference"], pair["p"], pair["significant"])
            assert row["difference"] == pytest.approx(means[row["run"], row["measure"]] - means["a", row["measure"]], abs=1e-12)


def test_runs_in_memory_have_the_values_of_their_files(runs):
    expected = riposte.evaluate(runs / "one.txt", runs / "qrels.txt", ["nDCG@10", "AP"])["value"].tolist()
    run = riposte.Run.read(runs / "one.txt")
    frame = run.to_frame().rename(columns={"topic": "qid", "document": "docno"})
    of_dict: dict[str, dict[str, float]] = {}
    for line in run:
        of_dict.setdefault(line.topic, {})[line.document] = line.score
    names = ["qid", "zero", "docno", "label"]
    qrels = pd.read_csv(runs / "qrels.txt", sep=" ", names=names, dtype={"qid": str, "docno": str})
    for one in (run, frame, frame.astype({"qid": int}), of_dict):
        assert riposte.evaluate(one, qrels, ["nDCG@10", "AP"])["value"].tolist() == expected
    assert riposte.evaluate({"x": run, "y": of_dict}, {"q": qrels}, "AP")[["run", "qrels"]].values.tolist() == [["x", "q"], ["y", "q"]]
    assert riposte.evaluate([run, run, of_dict], [qrels, qrels], "AP")["run"].unique().tolist() == ["one", "one-2", "run"]
    measures = [ir_measures.nDCG @ 10, ir_measures.AP]
    assert riposte.evaluate(run, qrels, measures)["value"].tolist() == expected


def test_what_cannot_be_measured_is_an_error_that_says_why(runs):
    with pytest.raises(riposte.RiposteError, match="nDGC"):
        riposte.evaluate(runs / "one.txt", runs / "qrels.txt", ["nDGC@5"])
    with pytest.raises(riposte.RiposteError, match="nowhere"):
        riposte.evaluate("nowhere", runs / "qrels.txt")
    with pytest.raises(ValueError, match="no column 'score'"):
        riposte.evaluate(pd.DataFrame({"qid": ["1"], "docno": ["d"]}), runs / "qrels.txt")
    twice = pd.DataFrame({"qid": ["1", "1"], "docno": ["d", "d"], "score": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'d' twice for the topic '1'"):
        riposte.evaluate(twice, runs / "qrels.txt")
    with pytest.raises(ValueError, match="two or more runs"):
        riposte.evaluate(runs / "one.txt", runs / "qrels.txt", correction="holm")


def test_the_provider_of_ir_measures_computes_what_the_others_do(runs):
    from ir_measures import AP, ERR, RR, Bpref, P, Rprec, nDCG

    provider = riposte.measures.provider
    assert provider is ir_measures.providers.registry["riposte"]
    measures = [nDCG @ 10, AP, P @ 5, P(rel=2) @ 5, RR, Rprec, Bpref]
    qrels = list(ir_measures.read_trec_qrels(str(runs / "qrels.txt")))
    run = list(ir_measures.read_trec_run(str(runs / "one.txt")))
    expected = ir_measures.pytrec_eval.calc(measures, qrels, run)
    found = provider.calc(measures, qrels, run)
    assert found.aggregated == pytest.approx(expected.aggregated, abs=1e-9)
    values = {(metric.query_id, metric.measure): metric.value for metric in found.per_query}
    assert len(values) == 20 * len(measures)
    assert values == pytest.approx({(metric.query_id, metric.measure): metric.value for metric in expected.per_query}, abs=1e-9)
    assert provider.supports(ERR @ 5) and not provider.supports(ir_measures.define_byquery(lambda qrels, run: 0.0, name="mine"))
    # an evaluator takes one run after the other; topics without documents get the default
    evaluator = provider.evaluator([AP], qrels)
    assert evaluator.calc_aggregate({})[AP] == 0
    assert evaluator.calc_aggregate(run)[AP] == pytest.approx(expected.aggregated[AP])


def test_a_verdict_is_that_of_the_command_line(runs, tmp_path):
    assert riposte.verify(runs / "one.txt", task="rank")
    lines = (runs / "one.txt").read_text().splitlines(keepends=True)
    broken = tmp_path / "broken.txt"
    broken.write_text("".join([*lines[:3], lines[0], "1 Q0 d2\n", *lines[3:]]))
    with pytest.warns(riposte.RiposteWarning):
        expected = json.loads(riposte.run(["verify", "--json", broken]).stdout)
    verdict = riposte.verify(broken)
    assert not verdict and verdict.task == expected["task"]
    assert [vars(finding) for finding in verdict.findings] == expected["findings"]
    assert "not valid" in verdict._repr_html_() and len(verdict.to_frame()) == len(expected["findings"]) > 0


def test_stances_and_qualities_are_those_of_the_command_line():
    topic, texts = (
        "Should we ban cars?",
        ["We should not ban cars.", "Ban them.", "Cars cost lives: 40 children died on our roads.", "l\u00f6l\n\u2028"],
    )
    lines = "".join(json.dumps({"topic": topic, "text": text}) + "\n" for text in texts)
    for command, found in [
        ("stance", riposte.stance([(topic, text) for text in texts])),
        ("quality", riposte.quality([(topic, text) for text in texts])),
    ]:
        expected = [json.loads(line) for line in riposte.run([command, "--jsonl", "-"], input=lines).stdout.split("\n") if line]
        names = ["quality"] if command == "quality" else ["stance", "pro", "con", "neither", "undecided"]
        assert found[names].to_dict("records") == [{name: answer[name] for name in names} for answer in expected]
        assert found["text"].tolist() == texts
    between = riposte.stance([(("cats", "dogs"), "Cats are cleaner than dogs."), (("cats", "dogs"), "It rains.")])
    assert between["stance"].tolist()[0] == "FIRST"
    assert between[["first", "second", "neutral", "no"]].sum(axis=1).tolist() == pytest.approx([1, 1])
    frame = pd.DataFrame({"query": [topic], "text": ["We should not ban cars."]}, index=[7])
    explained = riposte.stance(frame, explain=True)
    assert explained.index.tolist() == [7] and isinstance(explained.loc[7, "explanation"], riposte.Explanation)
    assert riposte.stance([]).empty
    for pairs, why in [([("", "x")], "topic of pair 0 is empty"), ([("t", None)], "text of pair 0"), ([("t", "\ud800")], "text of pair 0")]:
        with pytest.raises(ValueError, match=why):
            riposte.stance(pairs)
    with pytest.raises(ValueError, match="two objects"):
        riposte.quality([(("a", "b"), "x")])


def test_text_in_images_is_read_if_a_model_is_there(tmp_path, monkeypatch):
    picture = next((SAMPLE / "images").glob("*/*/image.*"))
    with pytest.raises(riposte.RiposteError, match="riposte models fetch"):
        riposte.read_text(picture)
    assert riposte.read_text([]) == []
    models = os.environ.get("RIPOSTE_TEST_MODELS", "")
    if not (Path(models) / "ppocr-v4").is_dir():
        return
    monkeypatch.setenv("RIPOSTE_MODELS", models)
    (broken := tmp_path / "broken.png").write_bytes(b"no picture")
    with pytest.warns(riposte.RiposteWarning, match="broken.png"):
        found = riposte.read_text([picture, broken, picture])
    assert found[1] is None and found[0] == found[2]
    with pytest.warns(riposte.RiposteWarning):
        expected = json.loads(riposte.run(["read", picture, broken]).stdout)
    assert found[0].text == expected["text"]
    assert [(line.text, line.confidence, line.block) for line in found[0].lines] == [
        (of["text"], of["confidence"], of["block"]) for of in expected["lines"]
    ]


def test_a_collection_ranks_what_the_command_line_ranks(tmp_path):
    generated.write_arguments(tmp_path / "touche")
    (tmp_path / "q.jsonl").write_text('{"qid": "1", "query": "Are school uniforms good?"}\n{"qid": "2", "query": "Is space travel good?"}\n')
    riposte.run(
        ["controversial", "-q", "-i", tmp_path / "touche", "-o", tmp_path / "out", "--topics", tmp_path / "q.jsonl", "--approach", "dirichlet"]
    )
    expected = (tmp_path / "out/run.txt").read_bytes()
    collection = riposte.Collection(tmp_path / "touche")
    assert collection.task == "controversial"
    questions = ["Are school uniforms good?", "Is space travel good?"]
    frame = pd.DataFrame({"qid": [1, 2], "query": questions})
    for topics in (tmp_path / "q.jsonl", questions, dict(zip("12", questions)), frame):
        run = collection.rank(topics, approach="dirichlet")
        assert run.write(tmp_path / "again.txt").read_bytes() == expected
    assert riposte.Run.read(tmp_path / "out").text().encode() == expected
    few = collection.rank(questions, approach="dirichlet", hits=3, settings={"retrieval.similarity.mu": 10}, tag="few")
    assert len(few) == 6 and few.tag == "few"
    found = collection.ask(questions[0], approach="bm25", number=2)
    assert set(found.arguments["side"]) <= {"PRO", "CON", "UNDECIDED"} and len(found.arguments) > 1
    for topics, why in [({"a b": "x"}, "blank"), ([" "], "is empty"), (pd.DataFrame({"qid": ["1"]}), "no column 'query'")]:
        with pytest.raises(ValueError, match=why):
            collection.rank(topics)
    with pytest.raises(FileNotFoundError, match="no data set 'touche-9'"):
        riposte.Collection("touche-9")
    with pytest.raises(FileNotFoundError, match="riposte datasets get"):
        riposte.Collection("args-me-1.0")


def test_images_are_shown_with_their_stances(images, tmp_path):
    assert images.collection.task == "images" and {line.stance for line in images} == {"PRO", "CON"}
    shown = Page(images._repr_html_())
    assert shown.tags.count("img") == 60 and shown.text.count("topic ") == 3
    # PRO and CON as shares of a bar below each picture
    assert images._repr_html_().count("P(pro) ") == 60
    line = images.lines[0]
    tree = riposte.explain(images, line.topic, line.document, line.stance)
    assert tree.value == pytest.approx(line.score, abs=1e-5) and tree.find("P(pro)" if line.stance == "PRO" else "P(con)")
    assert "<details" in tree._repr_html_() and str(tree).splitlines()[1].startswith("  ")
    with pytest.raises(ValueError, match="no explanation of the document 'nothing'"):
        images.explain("1", "nothing")
    with pytest.raises(ValueError, match="explain=True"):
        riposte.Run.from_dict({"1": {"d": 1.0}}).explain("1", "d")
    report = riposte.report(images, output=tmp_path / "report.html", qrels=SAMPLE / "qrels.txt").read_text()
    assert line.document in report


class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def test_texts_of_a_collection_cannot_become_tags():
    hostile = "<script>alert(1)</script>"
    run = riposte.Run([riposte.Ranked("1", None, hostile, 1, 1.0)])
    tree = riposte.Explanation(hostile, 1.0, hostile, (riposte.Explanation(hostile, 1.0),))
    picture = riposte.PictureText(hostile, hostile, ())
    answer = riposte.Answer(hostile, {"texts": [{"rank": 1, "stance": None, "text": hostile}]})
    for shown in (run, tree, picture, answer):
        page = Page(shown._repr_html_())
        assert "script" not in page.tags and hostile in page.text
    # an id is no path
    from riposte import _show

    assert _show.picture_of(SAMPLE, "../secret") is None and _show.picture_of(SAMPLE, "..") is None


def test_a_run_that_cannot_be_written_leaves_the_older_one(tmp_path):
    riposte.Run.from_dict({"1": {"d": 1.0}}).write(tmp_path / "run.txt")
    before = (tmp_path / "run.txt").read_text()
    with pytest.raises(ValueError, match="blank"):
        riposte.Run.from_dict({"1": {"a b": 1.0}}).write(tmp_path / "run.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["run.txt"] and (tmp_path / "run.txt").read_text() == before
    (tmp_path / "broken.txt").write_text("1 Q0 d 1 1.0 tag\n1 Q0 d\n")
    with pytest.raises(ValueError, match="broken.txt:2: a line of a run"):
        riposte.Run.read(tmp_path / "broken.txt")


def test_frames_of_runs_go_there_and_back(runs):
    run = riposte.Run.read(runs / "one.txt")
    again = riposte.Run.from_frame(run.to_frame(), tag="one")
    assert again.text() == run.text()
    assert_frame_equal(again.to_frame(), run.to_frame())
    table = Page(run._repr_html_())
    assert table.tags.count("tr") == 21 and "and 480 more rows" in table.text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_server_ends_when_python_is_killed(pets, own_server):
    code = f"import riposte, signal, os; s = riposte.Server({str(pets)!r}, threads=1); print(s._process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    server = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(server, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.kill(server, signal.SIGKILL)
    pytest.fail("the server goes on")


def test_a_server_answers_what_the_command_line_answers(pets, own_server):
    with riposte.Server(pets, threads=1) as server:
        found = server.search("Which pets guard a house?", approach="bm25")
        ranked = riposte.Collection(pets).rank("Which pets guard a house?", approach="bm25").to_frame()
        assert found["id"].tolist() == ranked["document"].tolist() == ["d2"]
        assert [f"{score:.6f}" for score in found["score"]] == [f"{score:.6f}" for score in ranked["score"]]
        assert server.explain("Which pets guard a house?", "d2", approach="bm25").value == pytest.approx(found["score"][0])
        assert server.ask("Which pets guard a house?", approach="bm25").texts["id"].tolist() == ["d2"]
        texts = ["We should not ban cars.", "Ban them."]
        expected = riposte.stance([("Should we ban cars?", text) for text in texts])
        assert server.stance("Should we ban cars?", texts)["pro"].tolist() == expected["pro"].tolist()
        assert len(server.quality("Should we ban cars?", texts)) == 2
        with pytest.raises(riposte.RiposteError, match="nothing-like-it") as error:
            server.search("x", approach="nothing-like-it")
        assert error.value.code == 400
        other = riposte.Server(url=server.url)
        assert other.collections()[0]["documents"] == 2
        other.close()
        assert server.collections()[0]["state"] == "ready"
        process = server._process
        again = riposte.Server(pets, threads=1)
    assert process.poll() is not None
    process = again._process
    del again
    assert process.poll() is not None
    with pytest.raises(riposte.RiposteError, match="does not answer"):
        server.collections()
    with pytest.raises(riposte.RiposteError, match="nowhere"):
        riposte.Server("nowhere")
    with pytest.raises(ValueError, match="collections"):
        riposte.Server()


def test_the_other_project_of_this_name_is_reported(tmp_path):
    info = tmp_path / "riposte-0.5.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: riposte\nVersion: 0.5.1\n")
    paths = os.pathsep.join([str(Path(riposte.__file__).parents[1]), str(tmp_path)])
    for path, says in [(paths, True), (paths.split(os.pathsep)[0], False)]:
        done = subprocess.run([sys.executable, "-c", "import riposte"], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        assert done.returncode == 0
        assert ("riposte 0.5.1, another project" in done.stderr) == says, done.stderr
        assert ("pip uninstall riposte" in done.stderr) == says
        done = subprocess.run([sys.executable, "-m", "riposte", "-V"], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        assert done.stdout.startswith("riposte ") and ("warning: the package riposte 0.5.1" in done.stderr) == says


def test_an_answer_of_a_folder_says_what_it_is_about(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "zoos.md").write_text(
        "Zoos should be closed. Wild animals belong in freedom and never in a cage, wherever they were born and whoever feeds them there."
    )
    (notes / "ducks.txt").write_text("The ducks of the park live longest.")
    folder = riposte.Collection(notes)
    assert folder.task == "rank"
    answer = folder.ask("Should zoos be closed?")
    assert answer.arguments["id"].tolist() == ["zoos.md"] and answer.arguments["repeats"].tolist() == [[]]
    run = folder.rank({"1": "Where do ducks live?"}, approach="bm25")
    assert run.to_frame()["document"].tolist()[0] == "ducks.txt"
    assert riposte.report(run, output=tmp_path / "report.html").is_file()
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ValueError, match="holds no collection"):
        riposte.Collection(empty)


def test_a_notebook_shows_that_nothing_is_about_a_question_and_what_is_less_likely_to_be():
    image = {"list": "PRO", "rank": 3, "id": "I1", "pro": 0.9, "con": 0.1, "words": "A cage", "argument": "a1"}
    texts = [{"rank": n, "id": f"d{n}", "text": f"Text {n}.", "padding": n > 1} for n in (1, 2, 3)]
    answer = riposte.Answer("Why?", {"sides": [{"side": "PRO", "claim": "", "images": [image]}], "texts": texts, "nothing_about_it": True})
    shown = Page(answer._repr_html_())
    assert shown.text.startswith("This collection seems to have nothing about it")
    assert "PRO 3" in shown.text and shown.text.count("less likely to be about it") == 1
    assert shown.text.index("Text 1.") < shown.text.index("less likely") < shown.text.index("Text 2.")
    assert answer.images.loc[0, ["list", "argument"]].tolist() == ["PRO", "a1"]
