"""Compares the pages of notebooks that are shown with models (docs/notebooks/render.py)."""

import re
from pathlib import Path

import pytest
from conftest import MODELS
from test_notebooks import compare, render

SHOWN = [notebook for notebook in render.NOTEBOOKS if render.models_of(notebook)]


@pytest.mark.parametrize("notebook", SHOWN, ids=lambda notebook: notebook.stem)
def test_the_page_shows_what_the_notebook_prints(notebook):
    assert MODELS, "RIPOSTE_TEST_MODELS names no directory"
    # the last digit can differ between machines
    compare(notebook, render.executed(notebook, Path(MODELS)), lambda text: re.sub(r"\d+", "0", text))
