"""Reads the evidence about images, which riposte has computed and stored, as data frames. Needs pandas.

    import numpy, riposte
    pages = riposte.evidence.read("evidence.sqlite", "page")
    vectors = numpy.stack(riposte.evidence.read("evidence.sqlite", "sentence")["vector"])   # rows × 384

`riposte images --evidence FILE` chooses the file. docs/export.md describes the tables.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read", "tables"]


def tables(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """The tables of an evidence store, and the columns of each.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not an evidence store.
    """
    with _open(path) as store:
        return _tables(store)


def read(path: str | os.PathLike[str], table: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A table of an evidence store.

    The store is not changed. All rows are from the same moment, even if riposte writes to the store meanwhile. Checksums are not verified;
    `riposte export evidence` verifies them, and refuses a damaged record.

    Args:
        path: the file.
        table: the name of the table, such as "page", "picture", "ocr_line", "sentence" or "clip"; `tables` lists all.
        columns: the columns to read, by default all.

    Returns:
        A frame with these columns, whose rows are sorted by the table's keys (document first). Ids and texts are strings. A column `vector` has a
        read-only numpy array of float32 in each row: 384 numbers in "sentence", the number of CLIP's dimensions in "clip".

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not an evidence store, or has no such table or column.
    """
    import numpy as np
    import pandas as pd

    with _open(path) as store:
        known = _tables(store)
        if table not in known:
            raise ValueError(f"{path} has no table {table!r}; it has {', '.join(known)}")
        columns = known[table] if columns is None else list(columns)
        if unknown := [column for column in columns if column not in known[table]]:
            raise ValueError(f"the table {table} has no column {', '.join(unknown)}; it has {', '.join(known[table])}")
        keys = [f'"{name}"' for _, name, _, _, _, key in sorted(store.execute(f'PRAGMA table_info("{table}")'), key=lambda row: row[5]) if key]
        names = ", ".join(f'"{column}"' for column in columns)
        rows = store.execute(f'SELECT {names} FROM "{table}" ORDER BY {", ".join(keys)}').fetchall()
    frame = pd.DataFrame(rows, columns=columns)
    if "vector" in columns:
        frame["vector"] = pd.Series([np.frombuffer(vector, "<f4") for vector in frame["vector"]], dtype=object, index=frame.index)
    return frame


@contextmanager
def _open(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Opens a store for reading only."""
    file = Path(path).absolute()
    if not file.is_file():
        raise FileNotFoundError(f"{path} is not a file")
    try:
        store = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
        try:
            if not {"document", "work", "page"} <= _tables(store).keys():
                raise ValueError(f"{path} is not an evidence store of riposte")
            yield store
        finally:
            store.close()
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path} cannot be read as an evidence store: {error}") from error


def _tables(store: sqlite3.Connection) -> dict[str, list[str]]:
    found = store.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    return {name: [row[1] for row in store.execute(f'PRAGMA table_info("{name}")')] for (name,) in found.fetchall()}
