"""All sources of the site: pages, pictures, tutorials, and what is written from the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autograd_inspector.views.notebook.saved import CAPTURE
from scripts.docs.keys import keys_page
from scripts.docs.options import callback_page, cli_page, magic_page
from scripts.docs.rules import rule_pages
from scripts.docs.settings import settings_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "notebooks" / "docs"
PICTURES = ROOT / "notebooks" / "pictures"
WHOLE = {"project/changelog.md": "CHANGELOG.md", "project/contributing.md": "CONTRIBUTING.md"}
"""Page -> the file at the top of the repository that it is."""


def collected() -> dict[str, bytes]:
    """Path below the site's source folder -> content."""
    pages = {
        path.relative_to(PAGES).as_posix(): path.read_bytes()
        for path in sorted(PAGES.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    pages |= {f"pictures/{path.name}": path.read_bytes() for path in sorted(PICTURES.iterdir())}
    pages |= {f"tutorials/{path.name}": tutorial(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    pages |= {page: (ROOT / name).read_bytes() for page, name in WHOLE.items()}
    written = {
        **rule_pages(),
        "reference/magic.md": magic_page(),
        "reference/cli.md": cli_page(),
        "reference/callbacks.md": callback_page(),
        "reference/panel_settings.md": settings_page(),
        "reference/keys.md": keys_page(),
    }
    return pages | {name: text.encode() for name, text in written.items()}


def tutorial(path: Path) -> bytes:
    """The notebook with its saved outputs, without the captures, which only the widget can draw; solutions fold."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    notebook["metadata"]["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    for cell in notebook["cells"]:
        metadata = cell["metadata"]
        if "solution" in metadata.get("tags", ()):
            metadata["tags"] = [*metadata["tags"], "hide-cell"]
        if "outputs" in cell:
            cell["outputs"] = [output for output in cell["outputs"] if CAPTURE not in output.get("data", {})]
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode()
