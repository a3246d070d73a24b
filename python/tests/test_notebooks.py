"""Runs the notebooks of docs/notebooks, as a reader without models does, and compares the pages of the book with them (docs/notebooks/render.py)."""

import importlib.util
import json
import re

import pytest
from conftest import REPOSITORY

_spec = importlib.util.spec_from_file_location("render", REPOSITORY / "docs/notebooks/render.py")
assert _spec and _spec.loader
render = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(render)


def test_the_site_and_the_book_have_each_notebook():
    assert len(render.NOTEBOOKS) == 3
    pages = [(REPOSITORY / "docs" / name).read_text("utf-8") for name in ("README.md", "SUMMARY.md")]
    for notebook in render.NOTEBOOKS:
        assert all(f"](notebooks/{notebook.stem}.md)" in page for page in pages), notebook


@pytest.mark.parametrize("notebook", render.NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_has_no_outputs_and_two_cells_of_set_up(notebook):
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    kinds = [cell["cell_type"] for cell in cells]
    assert kinds[:4] == ["markdown", "code", "code", "markdown"] and "pip install" in "".join(cells[1]["source"])
    for target in re.findall(r"\]\(([^)#]+)", "".join(line for cell in cells if cell["cell_type"] == "markdown" for line in cell["source"])):
        # the book has only what is in docs/
        assert (notebook.parent / target).resolve().is_relative_to(REPOSITORY / "docs") and (notebook.parent / target).is_file(), target


@pytest.mark.parametrize("notebook", render.NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_it_runs_without_models_and_the_page_shows_what_it_prints(notebook):
    nb = render.executed(notebook, None)
    if not render.models_of(notebook):
        compare(notebook, nb, lambda text: text)


def compare(notebook, nb, comparable):
    """Fails unless the page of a notebook is what it prints now."""
    page, pictures = render.page(notebook, nb)
    said = f"{notebook.stem}.md is not what the notebook prints: make -C tests notebooks"
    assert comparable(page).splitlines() == comparable(notebook.with_suffix(".md").read_text("utf-8")).splitlines(), said
    for name, picture in pictures.items():
        assert (notebook.parent / "pictures" / name).read_bytes() == picture, said
