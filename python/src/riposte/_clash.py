"""Another project is called `riposte` on the Python Package Index, and installs a module of the same name."""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, distribution

#: The name of the other distribution; this one is riposte-ir.
_OTHER = "riposte"

_SENTENCE = (
    "the package riposte {version}, another project, is installed too. It and riposte-ir have a module of the same name, and whichever was installed last "
    "has overwritten files of the other. Mend it with: pip uninstall riposte && pip install --force-reinstall --no-deps riposte-ir"
)


def clash() -> str | None:
    """A sentence if the other project is installed in the same environment."""
    try:
        version = distribution(_OTHER).version
    except PackageNotFoundError:
        return None
    return _SENTENCE.format(version=version)


def warn_of_clash() -> None:
    if found := clash():
        from ._program import RiposteWarning

        warnings.warn(found, RiposteWarning, stacklevel=3)
