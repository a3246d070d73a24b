"""Indexes as artifacts of PyTerrier: directories and zip files."""

import os
import re
import zipfile

import generated
import pyterrier as pt
import pytest
from conftest import REPOSITORY
from pandas.testing import assert_frame_equal
from test_pt import TOPICS

import riposte


@pytest.fixture
def entry_point(tmp_path, monkeypatch):
    """The entry point of the package, as an installed wheel has it."""
    info = tmp_path / "path/riposte_ir-9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: riposte-ir\nVersion: 9\n")
    project = (REPOSITORY / "python/pyproject.toml").read_text()
    (group, line) = re.search(r'entry-points\."(.+)"\]\n(.+)', project).groups()
    (info / "entry_points.txt").write_text(f"[{group}]\n{line}\n".replace('"', ""))
    monkeypatch.syspath_prepend(str(info.parent))


def test_an_index_is_an_artifact_that_can_be_shared_as_one_file(tmp_path, entry_point):
    index = riposte.pt.Indexer(tmp_path / "energy").index(generated.documents())
    expected = index.bm25()(TOPICS)
    loaded = pt.Artifact.load(tmp_path / "energy")
    assert type(loaded) is riposte.pt.Index and repr(loaded) == repr(index)
    package = index.to_zip(tmp_path / "energy.zip")
    os.rename(tmp_path / "energy", tmp_path / "gone")
    unpacked = riposte.pt.Index.from_zip(package, tmp_path / "other")
    assert unpacked.path == tmp_path / "other" and type(pt.Artifact.load(unpacked.path)) is riposte.pt.Index
    assert_frame_equal(unpacked.bm25()(TOPICS), expected)
    with pytest.raises(FileExistsError):
        riposte.pt.Index.from_zip(package, tmp_path / "other")


def test_a_zip_file_of_a_stranger_writes_nothing_outside(tmp_path):
    for name, why in [("../documents.jsonl", "outside"), ("/tmp/documents.jsonl", "outside"), ("notes.txt", "holds no collection")]:
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr(name, '{"docno": "d", "text": "t"}\n')
        with pytest.raises(ValueError, match=why):
            riposte.pt.Index.from_zip(tmp_path / "a.zip", tmp_path / "out")
    with pytest.raises(ValueError, match="more than 3 bytes"):
        riposte.pt.Index.from_zip(tmp_path / "a.zip", tmp_path / "out", most_bytes=3)
    (tmp_path / "b.zip").write_bytes(b"no zip")
    with pytest.raises(ValueError, match="not a zip file"):
        riposte.pt.Index.from_zip(tmp_path / "b.zip", tmp_path / "out")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.zip", "b.zip"]
