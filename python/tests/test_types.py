"""The types of the package, as mypy and Pyright read them: those of its own files, and those that a program sees."""

import os
import re
import subprocess
import sys

import pytest
from conftest import REPOSITORY

#: A program, with the type of an expression or an error of mypy behind each line.
PROGRAM = """
import riposte
run = riposte.Collection("x").rank(["a question"], approach="bm25")
reveal_type(run)  # riposte._run.Run
reveal_type(run.to_frame())  # DataFrame
reveal_type(riposte.evaluate([run, "run.txt"], {"1": {"d": 1}}, ["RR"], ci=True))  # DataFrame
reveal_type(riposte.verify(run).findings[0].line)  # Union[int, None]
reveal_type(riposte.read_text("a.png")[0])  # Union[riposte._texts.PictureText, None]
reveal_type(riposte.explain(run, "1", "d").parts)  # tuple[riposte._explanation.Explanation, ...]
riposte.stance("no pairs", explain="yes")  # error
"""


def mypy(*words: object) -> str:
    command = [sys.executable, "-m", "mypy", "--no-color-output", "--no-error-summary", *map(str, words)]
    return subprocess.run(command, cwd=REPOSITORY / "python", capture_output=True, text=True).stdout


def pyright(*words: str) -> str:
    """What basedpyright says: Pyright in a package that has its program, which that of Pyright itself downloads."""
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, *words]
    path = {**os.environ, "PYTHONPATH": str(REPOSITORY / "python/src")}
    return subprocess.run(command, cwd=REPOSITORY / "python", env=path, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What mypy has read, for both tests."""
    return tmp_path_factory.mktemp("mypy")


def test_the_package_has_the_types_that_it_says(cache):
    assert mypy("--cache-dir", cache) == ""


def test_a_program_sees_types(cache, tmp_path):
    (program := tmp_path / "program.py").write_text(PROGRAM)
    said = mypy("--cache-dir", cache, "--strict", program).splitlines()
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        _, _, expected = line.partition("  # ")
        found = [of for of in said if of.startswith(f"{program}:{number}:")]
        if expected == "error":
            assert any("explain" in of and 'expected "bool"' in of for of in found), said
        elif expected:
            kind = expected.removeprefix("Union[").removesuffix(", None]")
            assert any(kind in of for of in found) and ("None" in expected) == any("None" in of for of in found), said


def test_pyright_finds_the_same_types():
    assert "0 errors, 0 warnings" in (said := pyright()), said


def test_all_that_is_public_has_a_type_that_needs_no_inference():
    said = pyright("--verifytypes", "riposte", "--ignoreexternal")
    assert "Type completeness score" in said, said
    # what inherits from PyTerrier and ir_measures cannot have one, because those have no types
    names = [line for line in said.splitlines() if line.startswith("riposte.")]
    assert names and all(re.match(r"riposte\.(_?pt|_pt_\w+|measures)\.", name) for name in names), said
