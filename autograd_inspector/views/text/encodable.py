"""A text for a stream that cannot hold all of its characters: a terminal that knows ASCII alone, a log in Latin-1."""

from __future__ import annotations

_SIMPLER = str.maketrans(
    {
        **dict.fromkeys("·•", "-"),
        **dict.fromkeys("–—", "-"),
        **dict.fromkeys("─━", "-"),
        **dict.fromkeys("│├┃", "|"),
        "└": "`",
        "…": "...",
        "×": "x",
        "→": "->",
        "←": "<-",
        "✂": "x",
        "✕": "x",
        "▲": "!",
        "●": "o",
        "²": "^2",
        "\u2002": " ",
        **dict(zip("▁▂▃▄▅▆▇█", "_.-=+*%#", strict=True)),
    }
)
"""What our own sentences, trees and sparklines have, in ASCII."""


def encodable(text: str, encoding: str | None) -> str:
    """The text, as it is where the encoding has all of it (None: nothing is known of it, as of a stream in memory).

    Else characters of ours become simpler ones, and others are spelled out, as Python does on stderr.
    """
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        simpler = "\n".join(map(_simpler, text.split("\n")))
        return simpler.encode(_known(encoding), errors="backslashreplace").decode(_known(encoding))
    return text


def _simpler(line: str) -> str:
    """A line that was cut at its end stays as short as it is."""
    cut = line.endswith("…") and len(line) > len("...")
    return (f"{line[:-3]}..." if cut else line).translate(_SIMPLER)


def _known(encoding: str | None) -> str:
    try:
        "".encode(encoding or "utf-8")
    except LookupError:
        return "ascii"
    return encoding or "utf-8"
