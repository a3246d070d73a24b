"""What the files of the package import from each other."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter

from conftest import REPOSITORY


def names(source: str) -> Iterator[str]:
    """The full names of all that a file imports, also within functions and for type checkers only."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (of.name for of in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = ["riposte"] * node.level + ([node.module] if node.module else [])
            yield from (".".join([*module, of.name]) for of in node.names)


def test_no_file_imports_itself_through_others():
    files = {f"riposte.{file.stem}".removesuffix(".__init__"): file for file in (REPOSITORY / "python/src/riposte").glob("*.py")}
    imports = {}
    for name, file in files.items():
        found = (".".join(of.split(".")[:2]) for of in names(file.read_text("utf-8")) if of.split(".")[0] == "riposte")
        # any other name is of the package itself
        imports[name] = {of if of in files else "riposte" for of in found}
    assert imports["riposte"] > {"riposte._run", "riposte.spark"} and "riposte._show" in imports["riposte._judge"]
    TopologicalSorter(imports).prepare()  # CycleError names the files of a circle
