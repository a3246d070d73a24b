"""What the transformers of `riposte.pt` share."""

from __future__ import annotations

from typing import Any

try:
    import pyterrier as pt
except ImportError as error:
    raise ImportError(f"riposte.pt needs PyTerrier and pandas ({error}): pip install pyterrier") from error

from . import _layout


class Transformer(pt.Transformer):
    """A transformer whose `repr` and equality depend on the arguments that made it. They are attributes with the same names."""

    #: The name in a drawing, of at most 20 characters.
    label: str

    def __repr__(self) -> str:
        attributes = pt.inspect.transformer_attributes(self)
        words = [f"{a.name}={a.value!r}" for a in attributes if a.init_default_value != a.value]
        return f"riposte.pt.{type(self).__name__}({', '.join(words)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """What PyTerrier draws. Without `help_url`, it would look for these classes in its own documentation on the web."""
        return {"label": self.label, "help_url": None}

    def subtransformers(self) -> dict[str, pt.Transformer]:
        return {}


def objects_of(value: Any, whose: str) -> list[str]:
    """The two objects of a comparative question."""
    objects = list(value) if isinstance(value, (list, tuple)) else []
    if len(objects) != 2 or any(_layout.unfit_text(o) or not o.strip() for o in objects):
        raise ValueError(f"the objects of {whose} are {value!r}, not two strings")
    return objects
