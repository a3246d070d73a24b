"""riposte: argument retrieval for the Touché tasks.

The package carries the program `riposte` and calls it. It computes nothing itself, so whatever Python ranks is what the command line ranks.

- `riposte.run` runs the program; `python -m riposte` is the program.
- `riposte.pt` has PyTerrier transformers (the extra `pyterrier` installs what they need).
- `riposte.datasets` writes data sets of ir_datasets as riposte reads them.
- `riposte.evidence` reads the evidence about images as data frames.
- `riposte.spark` computes evidence, indexes and runs on Spark: `pip install 'riposte[spark]'`.

The last four are imported when they are first used, so that `import riposte` needs nothing but Python.
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
    __version__ = version("riposte")
except PackageNotFoundError:  # imported from a checkout that is not installed
    __version__ = "0"


def __getattr__(name: str) -> Any:
    if name in ("datasets", "evidence", "pt", "spark"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'riposte' has no attribute {name!r}")
