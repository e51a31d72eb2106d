"""torchvista and graphviz on the same graphs, each in a process of its own that may be given up."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Error

PATIENCE = 30
"""Seconds."""
_DRAWN = "() => document.querySelector('svg g path, svg g polygon') !== null"


def dot(name: str, _browser: Browser) -> tuple[float | None, str]:
    """`dot` on every node and edge: milliseconds, and what to say of them."""
    with TemporaryDirectory() as folder:
        source = Path(folder) / "graph.dot"
        _made("dot", name, source, patience=None)
        started = time.perf_counter()
        try:
            run = subprocess.run(["dot", "-Tsvg", source], capture_output=True, timeout=PATIENCE, check=True)
        except FileNotFoundError:
            return None, "not installed"
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            return None, f"no picture within {PATIENCE} s"
        taken = (time.perf_counter() - started) * 1e3
        return taken, f"{taken:,.0f} ms, {len(run.stdout) / 1e3:,.0f} kB of SVG"


def torchvista(name: str, browser: Browser) -> tuple[float | None, str]:
    """Its page of its own, built and then opened until something is drawn."""
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        started = time.perf_counter()
        try:
            _made("torchvista", name, page, patience=2 * PATIENCE)
        except subprocess.TimeoutExpired:
            return None, f"no page within {PATIENCE} s"
        except subprocess.CalledProcessError as error:
            return None, f"fails here: {error.stderr.decode().strip().rpartition(chr(10))[2][:80]}"
        built = float((Path(folder) / "seconds").read_text())
        size = page.stat().st_size / 1e3
        tab = browser.new_page()
        try:
            started = time.perf_counter()
            tab.goto(page.as_uri(), wait_until="commit")
            tab.wait_for_function(_DRAWN, timeout=PATIENCE * 1e3)
        except Error:
            return None, f"{built * 1e3:,.0f} ms to build {size:,.0f} kB, not drawn within {PATIENCE} s"
        finally:
            tab.close()
        drawn = time.perf_counter() - started
        total = (built + drawn) * 1e3
        return total, f"{total:,.0f} ms = {built * 1e3:,.0f} to build {size:,.0f} kB + {drawn * 1e3:,.0f} to draw"


def _made(what: str, name: str, path: Path, *, patience: float | None) -> None:
    """The model is made in the same process, which takes a while of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.widget.made", what, name, str(path)]
    subprocess.run(command, capture_output=True, timeout=patience, check=True)
