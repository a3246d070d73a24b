"""What all jobs on Spark need: the program and its models on the executors, and temporary settings of the session."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._program import find_binary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The names under which executors find shipped models begin with this.
MODELS = "riposte-models"


@dataclass(frozen=True)
class Place:
    """Where an executor or the driver finds the program and its models."""

    program: str
    #: The models directory; None for the default of each machine.
    models: str | None
    #: Whether both are names of shipped files, and not paths.
    shipped: bool = False

    def command(self, name: str, *args: str) -> list[str]:
        """A command of the program that uses models."""
        models = [] if self.models is None else ["--models", self._find(self.models)]
        return [*self.bare(name, *args), *models]

    def bare(self, name: str, *args: str) -> list[str]:
        """A command of the program that uses no models."""
        return [self._find(self.program), "--no-config", name, *args]

    def _find(self, name: str) -> str:
        if not self.shipped:
            return name
        from pyspark import SparkFiles

        return SparkFiles.get(name)


def local_place(models: str | os.PathLike[str] | None) -> Place:
    """The program and the models on the driver."""
    models = models or os.environ.get("RIPOSTE_MODELS") or None
    return Place(str(find_binary().resolve()), None if models is None else os.path.abspath(models))


def places(spark: SparkSession, models: str | os.PathLike[str] | None, installed: bool) -> tuple[Place, Place]:
    """The places for the driver and for the executors. Ships the program and the models, unless they are `installed` on all machines.

    Each file is shipped only once in a session, because Spark refuses a second file with the same name.
    """
    context = spark.sparkContext
    here = local_place(models)
    program, models = here.program, here.models
    shipped = context.__dict__.setdefault("_riposte_shipped", {})
    if not shipped:
        # executors fetch shipped files when they need them, so this directory exists as long as the session
        home = shipped["home"] = tempfile.TemporaryDirectory(prefix="riposte-spark-")
        context.addPyFile(_archive(Path(home.name, "riposte-package.zip"), Path(__file__).parent, "*.py", "riposte/"))
    if installed or (context.master or "").startswith("local["):
        return here, here
    home = Path(shipped["home"].name)
    if "program" not in shipped:
        context.addFile(program)
        shipped["program"] = Path(program).name
    if models is None:
        return here, Place(shipped["program"], None, shipped=True)
    if here.models not in shipped:
        name = f"{MODELS}-{len(shipped)}"
        context.addArchive(f"{_archive(home / f'{name}.zip', Path(models), '**/*')}#{name}")
        shipped[here.models] = name
    return here, Place(shipped["program"], shipped[here.models], shipped=True)


def _archive(archive: Path, source: Path, pattern: str, prefix: str = "") -> str:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        for path in sorted(source.glob(pattern)):
            if path.is_file():
                file.write(path, prefix + str(path.relative_to(source)))
    return str(archive)


@contextmanager
def settings(spark: SparkSession, **values: Any) -> Iterator[None]:
    """Changes settings of the session, and restores them afterwards. `__` in a name stands for a dot."""
    before = {}
    for name, value in values.items():
        name = name.replace("__", ".")
        before[name] = spark.conf.get(name, None)
        spark.conf.set(name, str(value))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def has(spark: SparkSession, path: str) -> bool:
    """Whether a path exists, in any file system that Spark reads."""
    found = spark._jvm.org.apache.hadoop.fs.Path(path)
    return found.getFileSystem(spark._jsc.hadoopConfiguration()).exists(found)
