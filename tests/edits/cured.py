"""Runs a program from a file, and makes the edits of its report."""

import contextlib
import linecache
import textwrap

import torch

from autograd_inspector import inspect

_IMPORTS = "import torch\nfrom torch import nn\n"


def report_of(tmp_path, text, *, values=False, name="train.py"):
    """The report of a program that runs in a block, and the file that it is in."""
    path = tmp_path / name
    path.write_text(_IMPORTS + textwrap.dedent(text).lstrip("\n").removeprefix(_IMPORTS), encoding="utf-8")
    linecache.checkcache(str(path))
    torch.manual_seed(0)
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    with contextlib.suppress(Exception), inspect(values=values) as inspection:
        exec(code, {})
    return inspection.report, path


def cured(tmp_path, text, **options):
    """The text with the edits of its report; what they cured is not told again, nor anything else."""
    report, path = report_of(tmp_path, text, **options)
    patched = report.patched().get(str(path), "")
    if patched:
        again, _ = report_of(tmp_path, patched, name="again.py", **options)
        assert [finding for finding in again.findings if finding.severity != "info"] == []
    return patched


def changes(before, after):
    """The lines that are new in a text, without their indentation."""
    old = [*_IMPORTS.splitlines(), *(line.strip() for line in textwrap.dedent(before).splitlines())]
    return [line.strip() for line in after.splitlines() if line.strip() not in old]
