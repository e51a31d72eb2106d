"""Script and style of the widget as one model, to which every widget of the kernel refers.

A saved notebook stores the state of each widget, and a page is sent it: with the code in it, 147 kB a widget.
"""

from __future__ import annotations

import threading

import anywidget
import traitlets

_lock = threading.Lock()
"""A cell and a request of the panel, in a thread of its own, may both make the first widget."""


class PageCode(anywidget.AnyWidget):
    """Never shown: it brings the style into the page, and keeps the module for the loaders of the widgets."""

    _esm = traitlets.Unicode("export default {}").tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    module = traitlets.Unicode().tag(sync=True)


_made: dict[tuple[str, str], PageCode] = {}


def page_code(module: str, style: str) -> PageCode:
    """The model that has these texts, made on first use, and again after ``Widget.close_all()``."""
    with _lock:
        code = _made.get((module, style))
        if code is None or code.comm is None:
            code = _made[module, style] = PageCode(module=module, _css=style)
        return code
