"""Names that differ in numbers only, as one: ``h.{0…11}.ln.weight``."""

from __future__ import annotations

import re

NUMBER = re.compile(r"\d+")


def pattern_of(names: list[str]) -> str:
    """``h.{0…11}.ln.weight`` for names that are equal but for their numbers."""
    if len(set(names)) == 1:
        return names[0]
    columns = [NUMBER.findall(name) for name in names]
    between = NUMBER.split(names[0])
    text = between[0]
    for position, part in enumerate(between[1:]):
        values = [column[position] for column in columns]
        same = len(set(values)) == 1
        text += (values[0] if same else f"{{{values[0]}…{values[-1]}}}") + part
    return text
