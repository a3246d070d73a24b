"""Writes data sets of ir_datasets, which consist of generated files, and lets riposte read the result."""

import doctest
import io
import json
import random
import shutil
import zipfile
from pathlib import Path

import generated
import ir_datasets
import pytest
from conftest import REPOSITORY
from ir_datasets.datasets.base import Dataset
from ir_datasets.datasets.beir import BeirDocs, BeirQrels, BeirQueries, BeirToucheDoc, BeirToucheQuery
from ir_datasets.formats import (
    ArgsMeDocs,
    ToucheComparativeQueries,
    ToucheControversialStanceQrels,
    ToucheImageDocs,
    TouchePassageDocs,
    ToucheQrels,
    ToucheQualityCoherenceQrels,
    ToucheQualityComparativeStanceQrels,
    ToucheQueries,
    ToucheTitleQueries,
)

import riposte


class Source:
    """A local file that ir_datasets reads as if it were a downloaded one."""

    def __init__(self, path: Path, content: str | bytes | None = None):
        self._path = path
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def path(self, force: bool = True) -> str:
        return str(self._path)

    def stream(self):
        return open(self._path, "rb")


def topics(*objects: tuple[str, str]) -> str:
    """Topics in the lab's format, with all parts. If pairs of objects are given, there is one topic for each pair."""
    xml = ""
    for n, subject in enumerate(generated.SUBJECTS):
        pair = f"<objects>{', '.join(objects[n])}</objects>" if n < len(objects) else ""
        title = f"Are {' better than '.join(objects[n])}?" if pair else f"Are {subject} &amp; &quot;co&quot; good?"
        if objects and not pair:
            continue
        xml += (
            f"<topic><number>{n + 1}</number><title>{title}</title>{pair}<description>Someone asks about {subject}.</description>"
            f"<narrative>Relevant is what names {subject}.</narrative></topic>"
        )
    return f"<topics>{xml}</topics>"


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@pytest.fixture
def arguments(tmp_path) -> Dataset:
    generated.write_arguments(tmp_path / "source")
    whole = json.loads((tmp_path / "source/args-me.json").read_text())
    # the first argument has every field that args.me knows
    first = whole["arguments"][0]
    first["premises"][0]["annotations"] = [{"start": 1, "end": 3, "source": "ü"}]
    first["premises"].append({"text": "A second \u2028 premise 😀", "stance": "CON"})
    first["context"] |= {
        "aspects": [{"name": "cost", "weight": 2.5, "normalizedWeight": 0.5, "rank": 1}],
        "sourceDomain": "canadian-parliament",
        "sourceText": "All of it",
        "sourceTextConclusionStart": 0,
        "sourceTextConclusionEnd": 3,
        "sourceTextPremiseStart": 4,
        "sourceTextPremiseEnd": 9,
        "previousArgumentInSourceId": "S1",
        "nextArgumentInSourceId": "S2",
        "date": "2012-01-02T00:00:00Z",
        "author": "A. Uthor",
        "authorImage": "https://example.org/a.png",
        "authorOrganization": "org",
        "authorRole": "role",
        "mode": "discussion",
    }
    whole["arguments"][1]["context"]["sourceDomain"] = "debate.org"
    judged = [f"{n % 6 + 1} {n % 2} S{n:08x}-A{n:08x}" for n in range(60)]
    chance = random.Random(5)
    qrels = [Source(tmp_path / name, "".join(f"{line} {chance.randrange(-2, 3)}\n" for line in judged)) for name in "abc"]
    return Dataset(
        ArgsMeDocs(Source(tmp_path / "source/args-me.json", json.dumps(whole)), namespace="x", language="en", count_hint=60),
        ToucheQueries(Source(tmp_path / "topics.xml", topics())),
        ToucheQualityCoherenceQrels(*qrels, {}),
    )


def test_arguments_keep_all_that_ir_datasets_knows_of_them(arguments, tmp_path):
    written = riposte.datasets.write(arguments, tmp_path / "out")
    assert written == ("controversial", tmp_path / "out/args-me.json", tmp_path / "out/queries.jsonl", written.qrels)
    again = ArgsMeDocs(Source(written.documents), count_hint=60)
    assert list(again.docs_iter()) == list(arguments.docs_iter())
    assert lines_of(written.queries)[0] == {
        "qid": "1",
        "query": 'Are school uniforms & "co" good?',
        "description": "Someone asks about school uniforms.",
        "narrative": "Relevant is what names school uniforms.",
    }
    for name, original in zip(("relevance", "quality", "coherence"), "abc"):
        assert written.qrels[name].read_text() == (tmp_path / original).read_text()
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "args-me.json",
        "coherence.qrels",
        "quality.qrels",
        "queries.jsonl",
        "relevance.qrels",
    ]


def test_riposte_ranks_and_evaluates_written_arguments(arguments, tmp_path):
    written = riposte.datasets.write(arguments, tmp_path / "written")
    out = tmp_path / "out"
    riposte.run([written.task, "-q", "-i", written.documents.parent, "-o", out, "--approach", "elrond"])
    riposte.run(["verify", out, "-i", written.documents.parent, "--task", "controversial"])
    assert "nDCG@5" in riposte.run(["evaluate", written.qrels["quality"], out, "nDCG@5"]).stdout
    # the original file gives the same run
    riposte.run(
        [written.task, "-q", "-i", tmp_path / "source", "--topics", tmp_path / "topics.xml", "-o", tmp_path / "other", "--approach", "elrond"]
    )
    assert (out / "run.txt").read_text() == (tmp_path / "other/run.txt").read_text()


def test_titles_alone_and_judgements_of_one_dimension(arguments, tmp_path):
    qrels = Source(tmp_path / "q", "1 0 S00000000-A00000000 5.0\n2 Q0 S00000001-A00000001 -2\n")
    dataset = Dataset(
        ArgsMeDocs(Source(tmp_path / "source/args-me.json"), count_hint=60),
        ToucheTitleQueries(Source(tmp_path / "topics.xml")),
        ToucheQrels(qrels, {}, allow_float_score=True),
    )
    written = riposte.datasets.write(dataset, tmp_path / "out")
    assert lines_of(written.queries)[0].keys() == {"qid", "query"}
    assert written.qrels == {"relevance": tmp_path / "out/relevance.qrels"}
    assert written.qrels["relevance"].read_text() == "1 0 S00000000-A00000000 5\n2 Q0 S00000001-A00000001 -2\n"


def test_passages_with_objects_and_stances(tmp_path):
    generated.write_passages(tmp_path / "source")
    judged = ["1 0 page-0___1", "1 0 page-1___1", "1 0 page-2___1", "1 0 page-3___1"]
    values = ["2 2 1 0", "1 0 2 0", "FIRST SECOND NEUTRAL NO"]
    qrels = [Source(tmp_path / f"q{n}", "".join(f"{line} {value}\n" for line, value in zip(judged, row.split()))) for n, row in enumerate(values)]
    dataset = Dataset(
        TouchePassageDocs(Source(tmp_path / "source/passages.jsonl"), count_hint=4),
        ToucheComparativeQueries(Source(tmp_path / "topics.xml", topics(("cats", "dogs")))),
        ToucheQualityComparativeStanceQrels(*qrels, {}),
    )
    written = riposte.datasets.write(dataset, tmp_path / "out")
    assert written.task == "comparative"
    assert lines_of(written.documents) == lines_of(tmp_path / "source/passages.jsonl")
    assert lines_of(written.queries)[0]["objects"] == ["cats", "dogs"]
    assert {name: file.read_text() for name, file in written.qrels.items()} == {
        name: (tmp_path / f"q{n}").read_text() for n, name in enumerate(["relevance", "quality", "stance"])
    }
    run = tmp_path / "run"
    riposte.run(["comparative", "-q", "-i", tmp_path / "out", "-o", run, "--approach", "bm25"])
    assert "1 FIRST page-0___1" in (run / "run.txt").read_text()
    assert "StanceF1" in riposte.run(["evaluate", written.qrels["stance"], run, "StanceF1"]).stdout


def test_documents_of_beir(tmp_path):
    corpus = [
        {"_id": f"c{n}", "title": f"T{n}", "text": words, "metadata": {"stance": "PRO", "url": f"u{n}"}} for n, words in enumerate(generated.PASSAGES)
    ]
    queries = [{"_id": "1", "text": "clean cats", "metadata": {"description": "d", "narrative": "n"}}]
    jsonl = ["".join(json.dumps(line) + "\n" for line in lines) for lines in (corpus, queries)]
    dataset = Dataset(
        BeirDocs("webis-touche2020", Source(tmp_path / "c", jsonl[0]), BeirToucheDoc),
        BeirQueries("webis-touche2020", Source(tmp_path / "q", jsonl[1]), BeirToucheQuery),
        BeirQrels(Source(tmp_path / "r", "query-id\tcorpus-id\tscore\n1\tc0\t2\n"), {}),
    )
    written = riposte.datasets.write(dataset, tmp_path / "out")
    assert written.task == "rank"
    assert lines_of(written.documents)[0] == {"docno": "c0", "title": "T0", "text": generated.PASSAGES[0], "stance": "PRO", "url": "u0"}
    assert lines_of(written.queries) == [{"qid": "1", "query": "clean cats", "description": "d", "narrative": "n"}]
    index = riposte.pt.Index(tmp_path / "out")
    assert index.bm25().search("cleaner flat")["docno"].iloc[0] == "c0"
    assert riposte.run(["evaluate", written.qrels["relevance"], "--format", "tsv", "nDCG@10", run_of(index, tmp_path)]).returncode == 0


def run_of(index: riposte.pt.Index, out: Path) -> Path:
    riposte.run(["rank", "-q", "-i", index.path, "-o", out / "run", "--approach", "bm25"])
    return out / "run"


def test_images_with_their_pages(tmp_path):
    files = sorted(file for file in (REPOSITORY / "sample/images").rglob("*") if file.is_file())
    chosen = sorted({file.relative_to(REPOSITORY / "sample/images").parts[1] for file in files})[:2]
    node = {"xPath": "/html/img[1]", "visible": True, "classes": ["a"], "position": [1.0, 2.0, 3.0, 4.0], "css": {"color": "red"}}
    archives = [io.BytesIO() for _ in range(3)]
    zips = [zipfile.ZipFile(archive, "w") for archive in archives]
    for image in chosen:
        directory = REPOSITORY / "sample/images" / image[:3] / image
        for path in [directory, *sorted(directory.rglob("*"))]:
            name = str(path.relative_to(REPOSITORY / "sample")) + ("/" if path.is_dir() else "")
            zips[0].writestr(name, b"" if path.is_dir() else path.read_bytes())
            if path.name == "snapshot":
                zips[1].writestr(f"{name}nodes.jsonl", json.dumps(node) + "\n")
        zips[2].writestr(f"images/{image[:3]}/{image}/image.png", b"png of " + image.encode())
    for archive in zips:
        archive.close()
    judged = f"1 ONTOPIC {chosen[0]} 1\n1 PRO {chosen[0]} 1\n1 CON {chosen[1]} 0\n"
    dataset = Dataset(
        ToucheImageDocs(*(Source(tmp_path / f"{n}.zip", archive.getvalue()) for n, archive in enumerate(archives)), count_hint=2),
        ToucheQueries(Source(tmp_path / "topics.xml", topics())),
        ToucheControversialStanceQrels(Source(tmp_path / "q", judged), {}),
    )
    with pytest.warns(riposte.RiposteWarning, match="1 of 2 images have no page"):
        written = riposte.datasets.write(dataset, tmp_path / "out")
    assert (written.task, written.documents) == ("images", tmp_path / "out/images")
    for image in chosen:
        original, copy = REPOSITORY / "sample/images" / image[:3] / image, written.documents / image[:3] / image
        for file in filter(Path.is_file, original.rglob("*")):
            if image != chosen[0] and "pages" in file.parts:
                continue  # in ir_datasets 0.6.3, only the first image has pages
            said = (copy / file.relative_to(original)).read_bytes()
            if file.suffix == ".jsonl":
                assert [json.loads(line) for line in said.splitlines()] == [
                    {key: line[key] for key in ("query", "topic", "rank")} for line in map(json.loads, file.read_bytes().splitlines())
                ]
            else:
                assert said.strip() == file.read_bytes().strip(), file
        assert (copy / "image.png").read_bytes() == b"png of " + image.encode()
    assert [lines_of(nodes) for nodes in (tmp_path / "out").rglob("nodes.jsonl")] == [[node]]
    assert written.qrels["relevance"].read_text() == judged
    store = tmp_path / "evidence.sqlite"
    with pytest.warns(riposte.RiposteWarning, match="no page"):
        riposte.run(["images", "--quiet=progress", "-i", tmp_path / "out", "-o", tmp_path / "run", "--evidence", store])
    assert list(riposte.evidence.read(store, "document")["document"]) == chosen
    assert list(riposte.evidence.read(store, "fault")["document"]) == chosen[1:]
    riposte.run(["evaluate", written.qrels["relevance"], tmp_path / "run"])


def test_the_listed_data_sets_are_those_of_ir_datasets():
    names = [name for name in ir_datasets.registry if "touche" in name]
    assert sorted(riposte.datasets.TOUCHE) == sorted(name for name in names if ir_datasets.registry[name].has_queries())
    for name, task in riposte.datasets.TOUCHE.items():
        assert riposte.datasets._kind(ir_datasets.registry[name].docs_cls()._fields)[0] == task, name
    with pytest.raises(KeyError):
        riposte.datasets.write("argsme/no-such-data-set", "nowhere")


def test_data_sets_of_pyterrier_and_ids_are_taken(arguments, tmp_path, monkeypatch):
    import pyterrier as pt

    monkeypatch.setattr(ir_datasets, "load", lambda name: {"argsme/mine": arguments}[name])
    riposte.datasets.write("argsme/mine", tmp_path / "one")
    riposte.datasets.write(pt.get_dataset("irds:argsme/mine"), tmp_path / "two")
    assert (tmp_path / "one/args-me.json").read_bytes() == (tmp_path / "two/args-me.json").read_bytes()


def test_nothing_is_replaced_unasked(arguments, tmp_path):
    out = tmp_path / "out"
    riposte.datasets.write(arguments, out)
    with pytest.raises(FileExistsError, match="args-me.json, coherence.qrels, quality.qrels, queries.jsonl, relevance.qrels already"):
        riposte.datasets.write(arguments, out)
    only_docs = Dataset(ArgsMeDocs(Source(tmp_path / "source/args-me.json"), count_hint=60))
    written = riposte.datasets.write(only_docs, out, overwrite=True)
    assert (written.queries, written.qrels) == (None, {})
    assert [file.name for file in out.iterdir()] == ["args-me.json"]
    shutil.rmtree(out)
    out.mkdir()
    (out / "topics.xml").write_text("x")
    with pytest.raises(ValueError, match="has topics.xml already"):
        riposte.datasets.write(arguments, out)


def test_what_fails_leaves_nothing(tmp_path):
    generated.write_passages(tmp_path / "source")
    with open(tmp_path / "source/passages.jsonl", "a") as file:
        file.write('{"id": "a b", "contents": "x", "chatNoirUrl": ""}\n')
    dataset = Dataset(TouchePassageDocs(Source(tmp_path / "source/passages.jsonl"), count_hint=5))
    with pytest.raises(ValueError, match="the id of a passage is 'a b', which has a blank"):
        riposte.datasets.write(dataset, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(ValueError, match="has no documents"):
        riposte.datasets.write(Dataset(ToucheQueries(Source(tmp_path / "t", topics()))), tmp_path / "out")


BEIR = {
    "corpus": [{"_id": f"d{n}", "title": "" if n else "On cats", "text": f"Cats and dogs, part {n}.", "year": 2000 + n} for n in range(4)],
    "queries": [{"_id": "q1", "text": "cats"}, {"_id": "q2", "text": "part 3"}],
    "qrels": [{"query-id": "q1", "corpus-id": "d0", "score": 1}, {"query-id": "q2", "corpus-id": "d3", "score": 2}],
}


def test_tables_of_hugging_face_go_there_and_back(tmp_path):
    import datasets

    tables = {name: datasets.Dataset.from_list(rows) for name, rows in BEIR.items()}
    for number, given in enumerate([tables, datasets.DatasetDict(tables), {**tables, "corpus": tables["corpus"].to_iterable_dataset()}]):
        written = riposte.datasets.write(given, tmp_path / str(number))
        assert written.task == "rank" and list(written.qrels) == ["relevance"]
        run = riposte.Collection(tmp_path / str(number)).rank(approach="bm25")
        assert riposte.evaluate(run, written.qrels["relevance"], ["RR"])["value"].tolist() == [1.0]
        back = riposte.datasets.read(tmp_path / str(number))
        assert back["documents"]["docno"][:] == ["d0", "d1", "d2", "d3"] and back["documents"][0]["title"] == "On cats"
        assert back["qrels"].to_list() == [{"qid": q["query-id"], "docno": q["corpus-id"], "label": q["score"]} for q in BEIR["qrels"]]
        again = riposte.datasets.write(back, tmp_path / f"{number} again")
        for name in ("queries.jsonl", "relevance.qrels"):
            assert (tmp_path / f"{number} again" / name).read_bytes() == (tmp_path / str(number) / name).read_bytes()
        assert again.documents.read_text().count("\n") == 4
    assert json.loads((tmp_path / "0/documents.jsonl").read_text().splitlines()[3])["year"] == 2003
    riposte.datasets.write(tables["corpus"], tmp_path / "documents only")
    with pytest.raises(ValueError, match="no documents.*'queries'"):
        riposte.datasets.write({"queries": tables["queries"]}, tmp_path / "none")
    with pytest.raises(ValueError, match="a document has none of the columns _id"):
        riposte.datasets.write({"corpus": tables["qrels"]}, tmp_path / "none")
    with pytest.raises(ValueError, match="no collection of texts"):
        riposte.datasets.read(tmp_path)
    assert doctest.testmod(riposte.datasets, globs={"riposte": riposte, "datasets": datasets}).failed == 0


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
