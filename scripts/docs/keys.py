"""The widget's keys, from the list that `?` shows."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.docs.markdown import code, escaped, table

LIST = Path(__file__).resolve().parents[2] / "labextension" / "src" / "view" / "keys_help.ts"
_TEXT = re.compile(r'"([^"]+)"')


def keys_page() -> str:
    """Which keys do what."""
    text = LIST.read_text(encoding="utf-8")
    texts = _TEXT.findall(text.partition("const keys")[2].partition("];")[0])
    pairs = zip(texts[::2], texts[1::2], strict=True)
    rows = [(" ".join(map(code, keys.split("  "))), escaped(what[:1].upper() + what[1:])) for keys, what in pairs]
    return (
        "# Keys\n\nIn the widget, the panel and `report.html`; `?` shows them there.\n\n"
        f"{table(('keys', 'do'), rows)}\n"
        "In tabs and tools, Home and End go to the first and the last one. Each toolbar is one stop of Tab. In the "
        "search Enter goes from one hit to the next.\n"
    )
