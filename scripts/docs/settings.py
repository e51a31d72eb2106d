"""The panel's settings and shortcuts, from the schema that JupyterLab reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scripts.docs.markdown import code, escaped, table

SCHEMA = Path(__file__).resolve().parents[2] / "labextension" / "schema" / "plugin.json"


def settings_page() -> str:
    """What the settings editor shows under "Autograd inspector"."""
    schema: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    settings = [
        (code(name), escaped(its["title"]), _what(its), code(json.dumps(its["default"])))
        for name, its in schema["properties"].items()
    ]
    shortcuts = [(code(key), code(its["command"])) for its in schema["jupyter.lab.shortcuts"] for key in its["keys"]]
    return (
        "# Settings of the panel\n\n"
        'In JupyterLab: Settings, Settings Editor, "Autograd inspector". Beside them `overrides.json` can set them for '
        "all users of a server.\n\n"
        f"{table(('setting', 'title', 'what it does', 'default'), settings)}\n"
        f"## Keyboard shortcuts\n\n{table(('keys', 'command'), shortcuts)}"
    )


def _what(setting: dict[str, Any]) -> str:
    said = escaped(setting["description"])
    if "oneOf" in setting:
        said += " " + ", ".join(f"`{choice['const']}`: {choice['title']}" for choice in setting["oneOf"]) + "."
    if "minimum" in setting:
        said += f" From {setting['minimum']} to {setting['maximum']}."
    return said
