"""The colours of the picture, each with its meaning and its twin for dark pages."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from autograd_inspector.views.colours import GRAPH, PAGE, Colour


class Paint(Struct, frozen=True):
    """Colours of one kind of box."""

    fill: str
    line: str
    text: str


_TWINS: dict[str, str] = {}


def _light(colour: Colour) -> str:
    """What is drawn; a viewer on a dark page puts its twin there."""
    _TWINS[colour.light] = colour.dark
    return colour.light


PAPER = _light(GRAPH["paper"])
INK = _light(GRAPH["ink"])
QUIET = _light(GRAPH["label"])
FRAME = _light(GRAPH["frame-line"])
CLUSTER = _light(GRAPH["frame-1"])
FLOW = _light(GRAPH["gradient"])
IDLE = _light(GRAPH["data"])
ALARM = _light(PAGE["error"])
WARNING = _light(PAGE["warning"])
HOPE = _light(PAGE["good"])


def _box(kind: str, text: str = INK) -> Paint:
    return Paint(_light(GRAPH[f"{kind}-fill"]), _light(GRAPH[f"{kind}-line"]), text)


FLOWING = _box("op")
STILL = _box("still", QUIET)
LEARNT = _box("parameter")
GIVEN = _box("input")
START = _box("output")
BROKEN = Paint(_light(PAGE["error-back"]), ALARM, INK)
WARNED = Paint(_light(PAGE["warning-back"]), WARNING, INK)

_DEVICES = (FLOWING, LEARNT, *map(_box, ("step", "function", "buffer", "output")))


def devices(names: list[str]) -> dict[str, Paint]:
    """A colour for each device, in the order given; they repeat where there are more than colours."""
    return {name: _DEVICES[number % len(_DEVICES)] for number, name in enumerate(names)}


def dark_rules(scope: str, colors: Collection[str] = _TWINS) -> str:
    """CSS that turns each of these colours inside ``scope`` into its twin; a presentation attribute yields to CSS."""
    return "".join(
        f'{scope}[fill="{light}"]{{fill:{dark}}}{scope}[stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in _TWINS.items()
        if light in colors
    )
