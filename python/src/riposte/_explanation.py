"""Explanations: the numbers that a score was computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import _show


@dataclass(frozen=True)
class Explanation:
    """A number, and the numbers that it was computed from.

    `print` shows the tree; in a notebook, its parts can be folded.

    Attributes:
        name: what the number is, for people.
        value: the number.
        how: how it was computed from its parts; empty for a number that is given.
        parts: the explanations of these numbers.
        id: what the number is, for programs: a word, or `{word: parameter}`.
    """

    name: str
    value: float
    how: str = ""
    parts: tuple[Explanation, ...] = ()
    id: Any = None

    @classmethod
    def of(cls, tree: Mapping[str, Any]) -> Explanation:
        """An explanation of the JSON that riposte writes."""
        parts = tuple(cls.of(part) for part in tree.get("parts", ()))
        return cls(tree["name"], tree["value"], tree.get("how") or "", parts, tree.get("id"))

    def find(self, name: str) -> Explanation | None:
        """The first number of this name: this one or one below it."""
        if self.name == name:
            return self
        return next((found for part in self.parts if (found := part.find(name))), None)

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> Iterator[str]:
        how = f"  ({self.how})" if self.how else ""
        yield f"{'  ' * depth}{self.value:.6f}  {self.name}{how}"
        for part in self.parts:
            yield from part._lines(depth + 1)

    def _repr_html_(self) -> str:
        return self._html(0)

    def _html(self, depth: int) -> str:
        parts = [part._html(depth + 1) for part in self.parts]
        # the upper two levels are open
        return _show.number(self.name, self.value, self.how, parts, is_open=depth < 2)


def explanation_in(found: Mapping[str, Any], stance: str | None = None) -> Explanation | None:
    """The explanation of the score in a line of `explain.jsonl`: of an image, that in the list of this stance."""
    if "score" in found:
        return Explanation.of(found["score"])
    listed = next((of["stance"] for of in found["listed"]), "PRO")
    tree = found.get((stance or listed).lower())
    return None if tree is None else Explanation.of(tree)


def stances_of_images(explanations: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[float, float]]:
    """P(pro) and P(con) by topic and image, from the lines of `explain.jsonl` that have both."""
    found = {}
    for of in explanations:
        if "image" not in of:
            continue
        sides = [Explanation.of(of[side]).find(name) if side in of else None for side, name in (("pro", "P(pro)"), ("con", "P(con)"))]
        if sides[0] is not None and sides[1] is not None:
            found[(of["topic"], of["image"])] = (sides[0].value, sides[1].value)
    return found
