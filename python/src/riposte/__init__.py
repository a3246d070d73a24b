"""riposte: argument retrieval for the Touché tasks.

The package contains the program `riposte` and calls it. It computes nothing itself, so rankings are the same in Python and on the command line.

- `riposte.run` runs the program, and so does `python -m riposte`.
- `riposte.pt` has PyTerrier transformers (the extra `pyterrier` installs the packages that they need).
- `riposte.datasets` writes data sets of ir_datasets as files that riposte reads.
- `riposte.evidence` reads the evidence about images as data frames.
- `riposte.spark` computes evidence, indexes and runs on Spark: `pip install 'riposte-ir[spark]'`.

The last four modules are imported when they are first used, so `import riposte` needs no other packages.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ._program import RiposteError, RiposteWarning, find_binary, run

if TYPE_CHECKING:
    from . import datasets, evidence, pt, spark

__all__ = ["RiposteError", "RiposteWarning", "datasets", "evidence", "find_binary", "pt", "run", "spark"]

try:
    __version__ = version("riposte-ir")
except PackageNotFoundError:  # imported from a checkout that is not installed
    __version__ = "0"


def __getattr__(name: str) -> Any:
    if name in ("datasets", "evidence", "pt", "spark"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'riposte' has no attribute {name!r}")
