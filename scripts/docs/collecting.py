"""All sources of the site: pages, pictures, tutorials, and what is written from the program."""

from __future__ import annotations

import json
import posixpath
import re
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
_NOTEBOOK = re.compile(r"\]\((?:\.\./)+(\w+\.ipynb)\)")
"""A link to a tutorial as it leads there in the repository: the notebooks lie beside the pages' folder."""


def collected() -> dict[str, bytes]:
    """Path below the site's source folder -> content."""
    pages = {
        path.relative_to(PAGES).as_posix(): page(path)
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


def page(path: Path) -> bytes:
    """The page; its links to tutorials lead to where those are on the site."""
    if path.suffix != ".md":
        return path.read_bytes()
    folder = path.relative_to(PAGES).parent.as_posix()

    def on_the_site(link: re.Match[str]) -> str:
        return f"]({posixpath.relpath(f'tutorials/{link[1]}', folder)})"

    return _NOTEBOOK.sub(on_the_site, path.read_text(encoding="utf-8")).encode()


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
