"""The colours of the picture, each with its meaning and its twin for dark pages."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct


class Paint(Struct, frozen=True):
    """Colours of one kind of box."""

    fill: str
    line: str
    text: str = "#1f2933"


PAPER = "#ffffff"
INK = "#1f2933"
QUIET = "#6b7785"
FRAME = "#cfd8e3"
FLOW = "#4c78a8"
IDLE = "#b4bcc6"
ALARM = "#c62828"
WARNING = "#8f5a00"
HOPE = "#3d8b55"

FLOWING = Paint("#eaf2fb", "#7ea6d4")
STILL = Paint("#f3f4f6", "#c3c9d1", "#6b7785")
LEARNT = Paint("#e6f4ea", "#74b389")
GIVEN = Paint("#ffffff", "#aab4c0")
START = Paint("#d5e3fb", "#1f4fa8")
BROKEN = Paint("#fdeceb", "#c62828")
WARNED = Paint("#fff3d6", "#8f5a00")

_DEVICES = (
    FLOWING,
    Paint("#e6f4ea", "#3d8b55"),
    Paint("#fff4d6", "#d0a23a"),
    Paint("#f3e8fb", "#8e63b8"),
    Paint("#e3f4f4", "#2f8f8f"),
    Paint("#fbe9e0", "#c0703a"),
)


def devices(names: list[str]) -> dict[str, Paint]:
    """A colour for each device, in the order given; they repeat where there are more than colours."""
    return {name: _DEVICES[number % len(_DEVICES)] for number, name in enumerate(names)}


_TWINS = {
    PAPER: "#15191f",
    INK: "#e4e9ef",
    QUIET: "#97a3b0",
    FRAME: "#37414d",
    FLOW: "#7fb0e6",
    IDLE: "#59636f",
    ALARM: "#ff7b72",
    WARNING: "#f0b429",
    HOPE: "#7ccb93",
    "#eaf2fb": "#1b2a3c",
    "#7ea6d4": "#47709f",
    "#f3f4f6": "#20262d",
    "#c3c9d1": "#454e59",
    "#e6f4ea": "#172d20",
    "#74b389": "#3f7d55",
    "#aab4c0": "#5b6672",
    "#fff4d6": "#332a12",
    "#d0a23a": "#a37f2c",
    "#d5e3fb": "#1b3a6b",
    "#1f4fa8": "#9cc1ff",
    "#fdeceb": "#3a1917",
    "#fff3d6": "#3a2c0b",
    "#f3e8fb": "#2a1f36",
    "#8e63b8": "#a98ccc",
    "#e3f4f4": "#14302f",
    "#2f8f8f": "#5fb5b3",
    "#fbe9e0": "#35241a",
    "#c0703a": "#d99a6c",
    "#fafbfd": "#191e25",
}
CLUSTER = "#fafbfd"


def dark_rules(scope: str, colors: Collection[str] = _TWINS) -> str:
    """CSS that turns each of these colours inside ``scope`` into its twin; a presentation attribute yields to CSS."""
    return "".join(
        f'{scope}[fill="{light}"]{{fill:{dark}}}{scope}[stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in _TWINS.items()
        if light in colors
    )
