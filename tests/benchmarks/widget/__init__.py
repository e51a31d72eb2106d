"""The widget in a real JupyterLab and a real browser: from running the cell to the picture, and what it is to use."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.display import Section, console


def measure(*, quick: bool) -> Iterator[Section]:
    """Nothing, where there is no browser."""
    try:
        from tests.ui.browser import browser
    except ImportError as error:
        console.print(f"The widget was not measured: {error} (the extra `test` has it)")
        return
    executable = browser()
    if executable is None:
        console.print("The widget was not measured: no browser (Debian: apt-get install chromium)")
        return
    from .sections import sections

    yield from sections(executable, quick=quick)
