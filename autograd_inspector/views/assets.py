"""What the front end's build left in static/."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files


class WidgetNotBuiltError(RuntimeError):
    """A checkout whose front end was not built; an installed wheel has it."""

    def __init__(self) -> None:
        super().__init__("the widget is not built: run `make widget` (it needs Node.js), or install a wheel")


@cache
def asset(name: str) -> str:
    """The text of a built file; raises WidgetNotBuiltError in one line where there is none."""
    try:
        return files("autograd_inspector").joinpath("static", name).read_text(encoding="utf-8")
    except OSError:
        raise WidgetNotBuiltError from None


@cache
def digest(name: str) -> str:
    """What only this text of a built file has."""
    return sha256(asset(name).encode()).hexdigest()[:16]
