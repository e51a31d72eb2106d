"""How wide a text is, and whether in colour, by what it is written to."""

from __future__ import annotations

import io

import pytest

from autograd_inspector.views.text.grid import Grid
from autograd_inspector.views.text.report import rendered
from autograd_inspector.views.text.terminal import Terminal, terminal_of


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "132")
    return monkeypatch


def test_a_terminal():
    """Its own width, colours, and as many lines as it shows."""
    terminal = terminal_of(Screen())
    assert (terminal.width, terminal.color, terminal.encoding) == (132, True, None)
    assert terminal.height > 0


def test_a_file_or_a_pipe():
    """100 columns without colours, however wide the terminal is that the command was given in."""
    assert terminal_of(io.StringIO()) == Terminal(100, color=False)


@pytest.mark.parametrize(
    ("variables", "screen", "file"),
    [
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, False, False),
    ],
)
def test_the_environment(environment, variables, screen, file):
    """NO_COLOR, FORCE_COLOR and TERM=dumb decide about colours; what is asked for in so many words comes first."""
    for name, value in variables.items():
        environment.setenv(name, value)
    for stream, color in ((Screen(), screen), (io.StringIO(), file)):
        assert terminal_of(stream).color is color
        assert terminal_of(stream, color="always").color
        assert not terminal_of(stream, color="never").color


def test_the_width_that_is_asked_for():
    """It comes before the terminal's; a terminal that tells too few columns gets as few as a text can have."""
    assert terminal_of(Screen(), width=70).width == 70
    assert terminal_of(io.StringIO(), width=70).width == 70


def test_a_terminal_of_few_columns(environment):
    """A text has at least 20."""
    environment.setenv("COLUMNS", "5")
    assert terminal_of(Screen()).width == 20


def test_a_closed_stream():
    """It is like a file: nobody looks at it."""
    stream = io.StringIO()
    stream.close()
    assert terminal_of(stream) == Terminal(100, color=False)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"COLUMNS": "30"}])
def test_what_is_asked_for_is_rendered(environment, broken, variables):
    """Width and colour of a text are those of its arguments: the environment has been asked before."""
    plain = broken.to_text(width=90)
    colored = broken.to_text(width=90, color=True)
    for name, value in variables.items():
        environment.setenv(name, value)
    assert broken.to_text(width=90) == plain
    assert broken.to_text(width=90, color=True) == colored
    assert "\x1b[1;31m" in colored


HEADERS = ("parameter", "state", "bytes")
ROWS = [("net.weight", "step, exp_avg, exp_avg_sq", "12 B"), ("net.bias", "", "4 B")]


def grid(width):
    return rendered([Grid(HEADERS, ROWS)], width=width, color=False).splitlines()


def test_cells_wrap_between_words():
    """In less room than a row takes, long cells take lines; names and words stay whole."""
    assert grid(80)[2] == "net.weight   step, exp_avg, exp_avg_sq   12 B"
    narrow = grid(35)
    assert narrow[2:4] == ["net.weight   step, exp_avg,   12 B", "             exp_avg_sq"]


def test_where_words_have_no_room():
    """Each row is its name, and below it a line of what it has."""
    assert grid(30) == [
        "net.weight",
        "    state step, exp_avg,",
        "    exp_avg_sq · bytes 12 B",
        "net.bias",
        "    bytes 4 B",
    ]
