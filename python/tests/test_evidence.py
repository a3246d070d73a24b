"""Reads the evidence store as data frames, and compares them with the output of `riposte export evidence`."""

import os
import shutil
import sqlite3
import stat

import numpy as np
import pandas as pd
import pytest
from conftest import REPOSITORY
from pandas.testing import assert_frame_equal

import riposte

GOLDEN = REPOSITORY / "tests/golden/evidence.sqlite"


def test_tables_are_those_that_riposte_exports(tmp_path):
    store = tmp_path / "evidence.sqlite"
    shutil.copy(GOLDEN, store)
    riposte.run(["export", "evidence", "--evidence", store, "-o", tmp_path / "parquet"])
    exported = sorted((tmp_path / "parquet").glob("*.parquet"))
    known = riposte.evidence.tables(store)
    assert len(exported) > 10
    for file in exported:
        expected = pd.read_parquet(file)
        if file.stem not in known:  # a table that this store does not have
            assert expected.empty, file
            continue
        found = riposte.evidence.read(store, file.stem)
        assert known[file.stem] == list(found.columns)
        found = found[list(expected.columns)]
        if "vector" in expected:
            assert all(vector.dtype == np.float32 for vector in found["vector"])
            assert_frame_equal(
                found.assign(vector=found["vector"].map(list)), expected.assign(vector=expected["vector"].map(list)), check_dtype=False
            )
        else:
            assert_frame_equal(found, expected, check_dtype=False)


def test_vectors_are_arrays():
    sentences = riposte.evidence.read(GOLDEN, "sentence")
    vectors = np.stack(sentences["vector"])
    assert vectors.shape == (len(sentences), 384) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)
    assert isinstance(sentences["document"][0], str) and sentences["document"].is_monotonic_increasing


def test_columns_can_be_chosen():
    titles = riposte.evidence.read(GOLDEN, "page", ["title", "document"])
    assert list(titles.columns) == ["title", "document"] and len(titles) > 10
    with pytest.raises(ValueError, match="the table page has no column body; it has document, page"):
        riposte.evidence.read(GOLDEN, "page", ["body"])
    with pytest.raises(ValueError, match="has no table 'pages'; it has .*page"):
        riposte.evidence.read(GOLDEN, "pages")


def test_a_store_is_only_read(tmp_path):
    store = tmp_path / "evidence.sqlite"
    shutil.copy(GOLDEN, store)
    before = store.read_bytes()
    store.chmod(stat.S_IRUSR)
    assert len(riposte.evidence.read(os.fspath(store), "document"))
    assert store.read_bytes() == before and list(tmp_path.iterdir()) == [store]


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.sqlite is not a file"):
        riposte.evidence.read(tmp_path / "nowhere.sqlite", "page")
    assert not (tmp_path / "nowhere.sqlite").exists()
    with pytest.raises(FileNotFoundError):
        riposte.evidence.tables(tmp_path)
    words = tmp_path / "words 100%?.txt"
    words.write_text("no database, though it is long enough to be one " * 100)
    with pytest.raises(ValueError, match="cannot be read as an evidence store"):
        riposte.evidence.tables(words)
    other = tmp_path / "other#.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE page (x)")
    with pytest.raises(ValueError, match="is not an evidence store of riposte"):
        riposte.evidence.read(other, "page")
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(GOLDEN.read_bytes()[:50_000])
    with pytest.raises(ValueError, match="cannot be read as an evidence store"):
        riposte.evidence.read(cut, "page")
