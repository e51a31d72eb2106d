"""Text for a stream that lacks some of its characters."""

from __future__ import annotations

import subprocess
import sys

import pytest

from autograd_inspector.api.demo import demo
from autograd_inspector.views.text.encodable import encodable
from autograd_inspector.views.text.report import to_text


def test_what_can_be_encoded_stays():
    """Not a character is changed where the encoding has all of them, or where nothing is known of it."""
    text = "naïve · 2×3 …\n├── ▁█ → 名"
    assert encodable(text, "utf-8") == encodable(text, None) == text
    assert encodable("naïve", "latin-1") == "naïve"


def test_our_own_characters_become_ascii():
    """Trees, dots, arrows and sparklines stay legible, each line as long as it was; a cut line is no longer."""
    assert encodable("├── 2×3 · x\n└── ▁▄█", "ascii") == "|-- 2x3 - x\n`-- _=#"
    cut = "the message goes on and o…"
    assert encodable(cut, "ascii") == "the message goes on and..."
    assert len(encodable(cut, "ascii")) == len(cut)


@pytest.mark.parametrize("encoding", ["ascii", "no-such-encoding"])
def test_names_are_spelled_out(encoding):
    """What a program calls its variables is spelled as Python spells it on stderr."""
    assert encodable("naïve += 1", encoding) == "na\\xefve += 1"


def test_a_whole_report(capsys):
    """A report is plain ASCII where it must be, and says the same."""
    text = to_text(demo())
    capsys.readouterr()
    plain = encodable(text, "ascii")
    assert plain.isascii()
    assert "hidden.add_(1)" in plain
    assert plain.count("\n") == text.count("\n")


def test_a_demo_in_an_ascii_terminal():
    """`demo()` prints its report there, too."""
    code = "import autograd_inspector; autograd_inspector.demo()"
    env = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, env=env)
    assert (done.stderr, done.returncode) == (b"", 0)
    assert b"error AG201" in done.stdout
