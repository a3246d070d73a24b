"""What several modules do with data frames, options and notes."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from subprocess import CompletedProcess
from typing import TYPE_CHECKING, Any, TypeGuard

from ._program import RiposteWarning, counts_faults

if TYPE_CHECKING:
    import pandas as pd


def pandas() -> Any:
    """The package pandas, which `import riposte` does not need."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"this needs pandas ({error}): pip install 'riposte-ir[pandas]'") from error
    return pandas


def new_frame(rows: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A data frame with these rows."""
    frame: pd.DataFrame = pandas().DataFrame(rows, columns=columns)
    return frame


def is_frame(value: object) -> TypeGuard[pd.DataFrame]:
    """Whether a value is a data frame; pandas need not be installed."""
    return type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "itertuples")


def column(frame: pd.DataFrame, *names: str) -> str:
    """The first of these columns that a frame has.

    Raises:
        ValueError: it has none of them.
    """
    for name in names:
        if name in frame.columns:
            return name
    raise ValueError(f"the frame has no column {' or '.join(map(repr, names))}; it has {', '.join(map(repr, frame.columns))}")


def toml(value: Any) -> str:
    """A value as TOML writes it. Strings and numbers are written as in JSON."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def options(**values: Any) -> list[str]:
    """The options of a command that have a value."""
    given = {name: os.fspath(value) if isinstance(value, os.PathLike) else str(value) for name, value in values.items() if value is not None}
    return [word for name, value in given.items() for word in (f"--{name}", value)]


def with_notes(done: CompletedProcess[str], stacklevel: int) -> str:
    """What a command has printed; its notes are repeated as a warning."""
    notes = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    # with faults, a warning has repeated all that riposte has said
    if done.returncode == 0 and notes and not counts_faults(done.stderr):
        warnings.warn("\n".join(notes), RiposteWarning, stacklevel=stacklevel + 1)
    return done.stdout


def objects_in(text: str) -> list[dict[str, Any]]:
    """The JSON objects in the lines of a text."""
    # a text in them can have other line breaks
    return [json.loads(line) for line in text.split("\n") if line]
