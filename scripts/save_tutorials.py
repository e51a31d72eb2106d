"""Run the tutorials from the top and save them with their outputs: `python scripts/save_tutorials.py [NOTEBOOK ...]`.

What is saved reads well in a viewer that knows no widgets, and depends neither on the run nor on the machine: a second
run leaves every file as it is, byte for byte. Without names, every notebook of `notebooks/`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from autograd_inspector.views.notebook.saved import CAPTURE, closed, opened

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
SECONDS = 300
"""How long one cell may take."""

KEPT = ("text/plain", "text/html", CAPTURE)
"""Media types that need neither a kernel nor a widget manager; the front end has the last one drawn interactively."""

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_ELSEWHERE = re.compile(r"File (?P<path>\S+?):\d+, in ")
_LINES = re.compile(r"(?:\d*-+> |\s+)\d+ |\s*\(\.\.\.\)|\s*$")
_PLACES = ((f"{sysconfig.get_paths()['purelib']}/", ""), (f"{sysconfig.get_paths()['stdlib']}/", ""), (f"{ROOT}/", ""))
"""A path below one of these is written from there: "torch/_tensor.py"."""
_TEMPORARY = re.compile(rf"{re.escape(tempfile.gettempdir())}/(?:(ipykernel_)\d+/\d+\.py|tmp\w+)")
"""The file that stands for a cell, and a temporary folder: each run has others."""
_PASSING = re.compile(
    r"(?<= at 0x)[0-9a-f]{8,}|(?<= in )\d+\.\d\ds\b|(?<=_runtime': ')[\d.]+|(?<=_per_second': ')[\d.]+"
)
"""Where an object lay, and how long pytest and a trainer took."""


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a fresh kernel; raises CellExecutionError where no exception was expected."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
        record_timing=False,
    )
    # The package of this checkout, wherever another one is installed.
    before = os.environ.get("PYTHONPATH", "")
    return client.execute(env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), before)))})


def tidied(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same notebook with nothing in it that the next run, or another machine, would write otherwise."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(output) for output in _outputs(cell.outputs)]
    return notebook


def written(notebook: nbformat.NotebookNode) -> str:
    """The file's text, as nbformat writes it."""
    text: str = nbformat.writes(notebook)
    return text + "\n"


def _outputs(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs as they are saved; text that was flushed in pieces is one piece."""
    kept: list[dict[str, Any]] = []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream" and kept and kept[-1].get("name") == output["name"]:
            kept[-1]["text"] += _placed(output["text"])
        elif kind == "stream":
            kept.append({**output, "text": _placed(output["text"])})
        elif kind == "error":
            kept.append(_error(output))
        else:
            data = {media: _saved(media, output["data"][media]) for media in KEPT if media in output["data"]}
            if any(data.values()):  # A progress line that was taken away is empty, and is there on slow machines only.
                kept.append({**output, "data": data, "metadata": {}})
    return kept


def _saved(media: str, value: Any) -> Any:
    """The data of an output in which no path is this machine's; a capture is opened for it, and closed again."""
    if media != CAPTURE:
        return _placed(value)
    wire, buffer = opened(value)
    return closed(json.dumps(_placed(wire), ensure_ascii=False, separators=(",", ":")).encode(), buffer)


def _error(output: dict[str, Any]) -> dict[str, Any]:
    """An error with the reader's own lines: the frames inside of libraries are counted by name only."""
    value = _placed(output["evalue"])
    text = _ANSI.sub("", "\n".join(output["traceback"]))
    return {**output, "evalue": value, "traceback": _placed(_shortened(text)).split("\n")}


def _shortened(text: str) -> str:
    """A traceback of IPython without the source of frames that are no cell's."""
    kept: list[str] = []
    libraries: list[str] = []
    inside = False

    def flushed() -> None:
        if libraries:
            kept.extend((f"    [... inside {', '.join(dict.fromkeys(libraries))}]", ""))
            libraries.clear()

    for line in text.splitlines():
        elsewhere = _ELSEWHERE.match(line)
        if elsewhere is not None:
            libraries.append(_library(elsewhere["path"]))
            inside = True
        elif (inside and _LINES.match(line)) or line.strip().startswith("[... skipping"):
            continue
        else:
            inside = False
            flushed()
            kept.append(line)
    return "\n".join(kept)


def _library(path: str) -> str:
    """The package that a file belongs to, "torch"; a module of the standard library by its name."""
    for place, _ in _PLACES:
        if path.startswith(place):
            return path.removeprefix(place).split("/", 1)[0].removesuffix(".py")
    return Path(path).stem


def _placed(value: Any) -> Any:
    """Text, or JSON with text in it, in which no path is this machine's."""
    if isinstance(value, str):
        for place, said in _PLACES:
            value = value.replace(place, said)
        return _PASSING.sub("…", _TEMPORARY.sub(lambda found: "cell" if found[1] else "folder", value))
    if isinstance(value, list):
        return [_placed(one) for one in value]
    if isinstance(value, dict):
        return {_placed(key): _placed(one) for key, one in value.items()}
    return value


def main() -> int:
    """Save the notebooks named, or all."""
    parser = argparse.ArgumentParser(description="Run the tutorials from the top and save them with their outputs.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="those to run; all when none is named")
    paths = parser.parse_args().notebooks or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        began = time.perf_counter()
        before = path.read_bytes()
        path.write_text(written(tidied(executed(path.resolve()))), encoding="utf-8")
        changed = "saved" if path.read_bytes() != before else "unchanged"
        size = path.stat().st_size // 1000
        sys.stdout.write(f"{path.name}: {changed}, {size} kB, {time.perf_counter() - began:.0f} s\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
