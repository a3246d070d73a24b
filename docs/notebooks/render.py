#!/usr/bin/env python3
"""Runs the notebooks of this directory, and writes each as a page of the book, with its outputs: `make -C tests notebooks`.

    RIPOSTE_BINARY="$PWD/target/release/riposte" target/peers/bin/python docs/notebooks/render.py

Notebooks are kept without outputs, so a page is the only place that has them. They run without a network, in an empty cache, and only with the models
that their metadata name (`riposte_models`), so that a page is the same on every machine. The models are those of RIPOSTE_TEST_MODELS or, without it,
those that are installed. python/tests/test_notebooks.py compares the pages with the notebooks.
"""

import base64
import hashlib
import os
import re
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))
#: Seconds that a cell may take.
PATIENCE = 300


def models_of(notebook: Path) -> list[str]:
    """The models with which a notebook is shown."""
    return nbformat.read(notebook, as_version=4).metadata.get("riposte_models", [])


def executed(notebook: Path, models: Path | None) -> nbformat.NotebookNode:
    """A notebook with its outputs. It runs with the models in this directory that it names, or with none."""
    nb = nbformat.read(notebook, as_version=4)
    with tempfile.TemporaryDirectory(prefix="riposte-notebook-") as work:
        (shown := Path(work, "models")).mkdir()
        for name in models_of(notebook) if models is not None else []:
            (shown / name).symlink_to(models / name)
        home = {name: str(Path(work, name.lower())) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR", "PYTERRIER_HOME")}
        # the package of this clone is found, so the first cell installs nothing
        package = str(HERE.parents[1] / "python/src")
        env = {**os.environ, **home, "PYTHONPATH": package, "RIPOSTE_MODELS": str(shown), "TMPDIR": work}
        env.pop("RIPOSTE_CONFIG", None)
        client = NotebookClient(nb, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(HERE)}})
        client.execute(env=env)
    return nb


def page(notebook: Path, nb: nbformat.NotebookNode) -> tuple[str, dict[str, bytes]]:
    """The page of an executed notebook, and the pictures that it shows, by their names.

    Raises:
        ValueError: a cell has printed a warning, which a page should not hide.
    """
    pictures: dict[str, bytes] = {}
    title, _, rest = nb.cells[0].source.partition("\n")
    parts = [
        f"<!-- render.py makes this page of {notebook.name}: change that one, and run `make -C tests notebooks` -->",
        title,
        f"*This page is [a notebook]({notebook.name}): open it in `docs/notebooks/` of a clone.*",
        rest.strip(),
    ]
    for cell in nb.cells[1:]:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [shown(output, pictures) for output in cell.outputs]
    return "\n\n".join(parts) + "\n", pictures


def shown(output: nbformat.NotebookNode, pictures: dict[str, bytes]) -> str:
    """An output as the page has it. Its pictures become files, because GitHub shows no others."""
    if output.output_type == "stream":
        if output.name == "stderr":
            raise ValueError(f"a cell warns: {output.text}")
        return f"```text\n{output.text.rstrip()}\n```"
    if "text/html" not in output.data:
        return f"```text\n{output.data['text/plain'].rstrip()}\n```"

    def file(found: re.Match[str]) -> str:
        picture = base64.b64decode(found[2])
        name = f"{hashlib.sha256(picture).hexdigest()[:16]}.{found[1]}"
        pictures[name] = picture
        return f"pictures/{name}"

    html = re.sub(r"<style scoped>.*?</style>", "", output.data["text/html"], flags=re.DOTALL)
    html = re.sub(r"data:image/(\w+);base64,([\w+/=]+)", file, html)
    # the book has its own style of tables, and scrolls those that are wider than the page
    html = re.sub(r' border="1" class="dataframe"| style="text-align: right;"', "", html)
    html = re.sub(r"<table.*?</table>", r'<div class="table-wrapper">\n\g<0>\n</div>', html, flags=re.DOTALL)
    # an empty line would end the HTML
    html = "\n".join(line.strip() for line in html.splitlines() if line.strip())
    return re.sub(r"\n(?=<t[hd]|</tr)", "", html)


def main() -> None:
    places = [os.environ.get("RIPOSTE_TEST_MODELS"), os.environ.get("RIPOSTE_MODELS"), Path.home() / ".local/share/riposte/models"]
    models = next(Path(place) for place in places if place)
    all_pictures: dict[str, bytes] = {}
    for notebook in NOTEBOOKS:
        text, pictures = page(notebook, executed(notebook, models))
        notebook.with_suffix(".md").write_text(text, "utf-8")
        all_pictures |= pictures
        print(notebook.with_suffix(".md"))
    (directory := HERE / "pictures").mkdir(exist_ok=True)
    for old in set(directory.iterdir()) - {directory / name for name in all_pictures}:
        old.unlink()
    for name, picture in all_pictures.items():
        (directory / name).write_bytes(picture)


if __name__ == "__main__":
    main()
