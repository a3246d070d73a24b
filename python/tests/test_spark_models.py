"""Computes evidence with models that are shipped to executors. RIPOSTE_TEST_MODELS names the directory of the models."""

import os
import shutil

from conftest import MODELS, REPOSITORY
from test_spark import contents, extract_on_processes, merged, riposte


def test_models_that_are_shipped_compute_what_those_of_one_machine_do(tmp_path, monkeypatch):
    assert MODELS, "RIPOSTE_TEST_MODELS is not set"
    models = tmp_path / "models"
    models.mkdir()
    for name in ["ppocr-v4", "all-minilm-l6-v2"]:
        shutil.copytree(os.path.join(MODELS, name), models / name)
    monkeypatch.setenv("RIPOSTE_MODELS", str(models))
    sample = REPOSITORY / "sample"
    alone = contents(riposte("extract", "-i", sample, tmp_path / "alone.sqlite"))
    assert {"ocr_line", "sentence"} <= {row[0] for row in alone}
    extract_on_processes(sample, tmp_path / "evidence", "--require", "ocr,sentence")
    assert merged(tmp_path / "evidence", tmp_path / "evidence.sqlite") == alone
