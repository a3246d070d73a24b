"""riposte: argument retrieval for the Touché tasks.

The package contains the program `riposte` and calls it. It computes nothing itself, so rankings are the same in Python and on the command line.

- `riposte.Collection` ranks collections and answers questions from them; `riposte.Run` is a ranking, `riposte.explain` and `riposte.report` show why.
- `riposte.evaluate`, `riposte.compare` and `riposte.verify` judge runs.
- `riposte.stance`, `riposte.quality` and `riposte.read_text` read texts and images.
- `riposte.Server` starts a server whose collections stay open, or asks one.
- `riposte.run` runs the program, and so does `python -m riposte`.
- `riposte.pt` has PyTerrier transformers (the extra `pyterrier` installs the packages that they need).
- `riposte.datasets` writes data sets of ir_datasets as files that riposte reads.
- `riposte.evidence` reads the evidence about images as data frames.
- `riposte.spark` computes evidence, indexes and runs on Spark: `pip install 'riposte-ir[spark]'`.
- `riposte.measures` lets ir_measures compute by riposte.

Modules are imported when they are first used, so `import riposte` needs no other packages; functions that return data frames need pandas.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ._clash import warn_of_clash
from ._collection import Answer, Collection, report
from ._explanation import Explanation
from ._judge import Finding, Verdict, compare, evaluate, verify
from ._program import RiposteError, RiposteWarning, find_binary, run
from ._run import Ranked, Run, explain
from ._server import Server
from ._texts import PictureText, TextLine, quality, read_text, stance

if TYPE_CHECKING:
    from . import datasets, evidence, measures, pt, spark

__all__ = [
    "Answer",
    "Collection",
    "Explanation",
    "Finding",
    "PictureText",
    "Ranked",
    "RiposteError",
    "RiposteWarning",
    "Run",
    "Server",
    "TextLine",
    "Verdict",
    "compare",
    "datasets",
    "evaluate",
    "evidence",
    "explain",
    "find_binary",
    "measures",
    "pt",
    "quality",
    "read_text",
    "report",
    "run",
    "spark",
    "stance",
    "verify",
]

try:
    __version__ = version("riposte-ir")
except PackageNotFoundError:  # imported from a checkout that is not installed
    __version__ = "0"


def __getattr__(name: str) -> Any:
    if name in ("datasets", "evidence", "measures", "pt", "spark"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'riposte' has no attribute {name!r}")


warn_of_clash()
