"""Runs the examples of the documentation one after another, as a reader would."""

import re
import shutil
from pathlib import Path

import generated
import ir_datasets
import pytest
from conftest import REPOSITORY
from test_datasets import arguments  # noqa: F401

PAGES = [REPOSITORY / page for page in ("docs/python.md", "docs/coming-from.md", "python/README.md")]


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore::riposte.RiposteWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_run(page, tmp_path, monkeypatch, capsys, arguments):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    generated.write_arguments(tmp_path / "touche")
    shutil.copy(REPOSITORY / "tests/golden/evidence.sqlite", tmp_path)
    monkeypatch.setattr(ir_datasets, "load", lambda name: {"argsme/2020-04-01/touche-2021-task-1": arguments}[name])
    examples = blocks(page.read_text("utf-8"))
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, str(page), "exec"), names)
    said = capsys.readouterr().out
    if page.name == "README.md":
        (example,) = examples
        (shown,) = re.findall(r"^```text\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        # ten lines, and the page has what they print
        assert sum(bool(line) for line in example.splitlines()) == 10 and said == shown
        return
    if page.name == "coming-from.md":
        assert len(examples) == 1
        assert names["compared"].set_index("name").loc["BM25", "AP"] == 1
        return
    assert len(examples) == 13
    assert re.search(r"^riposte \d", said, re.MULTILINE) and "2 cannot read" in said
    assert '"stance":"CON"' in names["stance"]
    # the text of d2 answers the question, and d1 is about waste
    assert names["annotated"]["docno"].tolist() == ["d2", "d1"]
    assert "FIRST" in said and "nDCG@5" in said
    assert len(names["found"]) == 5 and names["vectors"].shape[1] == 384
    assert [line.document for line in names["run"]] == ["d2", "d1"]
    assert names["values"].set_index(["run", "measure"])["value"]["other", "RR"] == 0.75
    assert "['d2', 'd1']" in said and Path("out/report.html").is_file()


def test_the_readme_of_the_package_and_the_page_name_what_exists():
    import riposte

    for page in PAGES:
        for module, name in re.findall(r"`riposte\.(pt|datasets|evidence|measures)\.(\w+)", page.read_text("utf-8")):
            assert hasattr(getattr(riposte, module), name), f"{page}: riposte.{module}.{name}"
