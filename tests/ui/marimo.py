"""A marimo of its own."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .lab import ROOT, free_port, serving

NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import site, sys

    # After marimo's own packages: torch, and what else the tests have.
    site.addsitedir({packages!r})
    sys.path.insert(0, {root!r})
    import autograd_inspector
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    with autograd_inspector.inspect() as inspection:
        hidden = encoder(torch.ones(2, 4)).detach()
        loss = head(hidden).sum()
        loss.backward()
        optimizer.step()
    inspection.report
    return


if __name__ == "__main__":
    app.run()
"""


@contextmanager
def running_marimo(folder: Path, python: str) -> Iterator[str]:
    """Start a server on one notebook, whose only cell ends with a report; yields its address."""
    path = folder / "detached.py"
    path.write_text(NOTEBOOK.format(packages=sysconfig.get_path("purelib"), root=str(ROOT)))
    settings = folder / "config" / "marimo"
    settings.mkdir(parents=True)
    (settings / "marimo.toml").write_text('[display]\ntheme = "system"\n[runtime]\nauto_instantiate = true\n')
    port = free_port()
    command = [
        python, "-m", "marimo", "edit", str(path), "--headless", "--no-token", "--skip-update-check",
        "--host=127.0.0.1", f"--port={port}",
    ]  # fmt: skip
    places = {"XDG_CONFIG_HOME": str(folder / "config"), "HOME": str(folder)}
    with serving(command, os.environ | places, folder / "marimo.log", f"http://127.0.0.1:{port}", "/health") as url:
        yield url
