"""Build the site: `python -m scripts.docs [--out FOLDER]`, offline; it ends up in build/docs/html.

Pages lie in notebooks/docs, tutorials beside it. What the program itself knows best (options, settings, keys, rules)
is written from it. All sources are collected in build/docs/source, where only what changed is written: a second build
takes seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from scripts.docs.collecting import ROOT, collected
from scripts.docs.writing import write_all

OUT = ROOT / "build" / "docs"


def main() -> int:
    """Collect, then run Sphinx; a warning is an error."""
    parser = argparse.ArgumentParser(description="Build the documentation, offline.")
    parser.add_argument("--out", type=Path, default=OUT, help="where source, doctrees and html go (build/docs)")
    out = parser.parse_args().out.resolve()
    began = time.perf_counter()
    pages = collected()
    changed = write_all(out / "source", pages)
    _say(f"[docs 1/2] {len(pages)} sources collected, {changed} of them changed")
    _say("[docs 2/2] sphinx-build")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "--jobs", "auto", "--quiet"]
    places = [str(out / name) for name in ("source", "html")]
    done = subprocess.run([*command, "-d", str(out / "doctrees"), *places], cwd=ROOT, check=False)  # noqa: S603 - ours
    if done.returncode == 0:
        _say(f"[docs] {out / 'html' / 'index.html'} ({time.perf_counter() - began:.0f} s)")
    return done.returncode


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
