"""Other texts of the program's files than those on the disk: what a trial of an edit runs."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

_TEXTS: dict[str, str] = {}
"""File -> the text that is run instead of its own."""


def lay_over(texts: Mapping[str, str]) -> None:
    """From now on this process imports, runs and quotes these texts. The files stay as they are."""
    _TEXTS.update(texts)
    for filename, text in texts.items():
        linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    sys.meta_path.insert(0, _Finder())


def text_of(filename: str) -> str | None:
    """The text that lies over a file."""
    return _TEXTS.get(filename)


class _Loader(SourceFileLoader):
    """Compiles the text; no bytecode of it is read or kept."""

    def get_code(self, _fullname: str) -> CodeType | None:
        return self.source_to_code(_TEXTS[self.path].encode(), self.path)

    def get_source(self, _fullname: str) -> str:
        return _TEXTS[self.path]


class _Finder(MetaPathFinder):
    """Finds what Python's own finder of files finds, and lets another loader load it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin not in _TEXTS:
            return None
        spec.loader = _Loader(fullname, spec.origin)
        spec.cached = None
        return spec
