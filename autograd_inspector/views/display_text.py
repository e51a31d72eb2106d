"""Names and numbers as a reader sees them."""

from __future__ import annotations

import unicodedata

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.wording import agree, counted

LONGEST = 160
_ROUNDS_UP = 999.5
_KEPT = frozenset({"\t"})
_UNITS = ("B", "kB", "MB", "GB", "TB")
UNSAFE = "unsafe edit: it may change what the program does"
"""Below the edit of a finding that is not safe, where no button says so."""


def tried_text(finding: Finding) -> str:
    """``tried: cured; before it 1 other edit was tried: not cured``; "" where nothing was tried."""
    if not finding.verified:
        return ""
    others = sum(other.verified == "not cured" for other in finding.alternatives)
    rest = f"; {counted(others, 'other edit')} {agree(others, 'was', 'were')} tried: not cured" if others else ""
    return f"tried: {finding.verified}{rest}"


def unedited_text(finding: Finding) -> str:
    """Why there is no edit: ``the line is in a library (torch/nn/functional.py)``; "" of what needs none, an info."""
    return finding.unedited.sentence if finding.unedited is not None and finding.severity != "info" else ""


def shown(text: str, longest: int = LONGEST) -> str:
    """A name or line of the program, on one line: controls and direction marks spelled out, long ones cut.

    A terminal would obey an escape sequence, and a bidirectional mark would reorder what stands beside it.
    """
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} … {text[-half:]}"
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def carried(text: str) -> str:
    """The text as it is, for who needs every letter; a lone surrogate, which no file can hold, is spelled out."""
    return text.encode(errors="backslashreplace").decode()


def _visible(character: str) -> str:
    if character in _KEPT:
        return " "
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} or _is_none(ord(character)):
        return repr(character)[1:-1]
    return character


def _is_none(code: int) -> bool:
    """Whether Unicode promises that no character has this code: XML refuses some of them, HTML all."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF  # noqa: PLR2004 - they are in no other place


def op_name(name: str) -> str:
    """``getitem`` for ``__getitem__``."""
    bare = name[2:-2] if name.startswith("__") and name.endswith("__") else name
    return shown(bare or name, 40)


def size(count: int) -> str:
    """``1.2 MB``: decimal units, three digits."""
    value = float(count)
    for unit in _UNITS:
        if value < _ROUNDS_UP or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{count} B" if unit == "B" else f"{value:.3g} {unit}"


def listed(names: list[str], most: int = 6) -> str:
    """``matmul ×2, tanh, …``: in order of appearance, repetitions counted."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    parts = [op_name(n) if c == 1 else f"{op_name(n)} ×{c:,}" for n, c in list(counts.items())[:most]]
    rest = len(counts) - len(parts)
    return ", ".join([*parts, f"{rest} more"] if rest else parts)
