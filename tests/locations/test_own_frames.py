"""Lines of the inspector itself are no lines of the program."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.lines.stacks import SKIP, USER, classify
from autograd_inspector.frontends.cli.script import run_script
from autograd_inspector.own_files import is_own, runs_a_program

PACKAGE = Path(autograd_inspector.__file__).parent


def test_every_file_of_ours_is_skipped():
    """Wherever a file of the package lies, its frames are left out of all stacks; those of this test are not."""
    files = [path for path in PACKAGE.rglob("*.py") if "static" not in path.parts]
    assert len(files) > 300
    assert {str(path) for path in files if classify(str(path)) != SKIP} == set()
    assert classify(__file__) == USER


def test_what_runs_a_program_is_a_folder_that_is_there():
    """Frames outside it are not the program's."""
    assert runs_a_program(SimpleNamespace(f_code=run_script.__code__))
    assert not runs_a_program(sys._getframe())
    assert not is_own(sys._getframe())


PROGRAM = """
import sys
import torch
import autograd_inspector

@torch.no_grad()
def evaluate(x):
    return x.exp()

def main():
    x = torch.ones(2, requires_grad=True)
    torch.set_grad_enabled(False)
    x.sin()
    torch.set_grad_enabled(True)
    with torch.inference_mode():
        x.cos()
    evaluate(x)
    (x * 2).sum().backward()
    x.grad

with autograd_inspector.inspect() as inspection:
    main()
    for parameter in torch.nn.Linear(2, 2).parameters():
        parameter.requires_grad == False
capture = inspection.report.capture
places = {(op.name, capture.place(op.site).filename) for op in capture.ops}
print(sorted({name.rpartition("/")[2] for _, name in places}))
print([(region.kind, region.api, region.library, capture.place(region.site).source) for region in capture.regions[1:]])
print([capture.place(read.site).source for read in capture.grad_reads], capture.notes, capture.stopped)
print([type(event).__name__ for event in capture.events])

def unclosed():
    autograd_inspector.inspect().__enter__()

unclosed()
torch.ones(2)
try:
    with autograd_inspector.inspect() as inspection:
        torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as error:
    trace = error.__traceback__
    while trace is not None:
        assert trace.tb_frame.f_code.co_filename == __file__, trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
print(inspection.report.capture.notes)
"""


def told_by(program, *import_from):
    found = os.pathsep.join(map(str, import_from))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program)],
        env={**os.environ, "PYTHONPATH": found},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def expected(tmp_path):
    """What a program in a folder of any name tells."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    told = told_by(path, PACKAGE.parent)
    assert "torch.set_grad_enabled(False)" in told
    assert "x.grad" in told
    assert "RequiresGradCompared" in told
    return told


def test_a_program_whose_folder_is_called_like_ours(tmp_path, expected):
    """What is ours is told by the package's own folder, to the end of its name."""
    (tmp_path / "autograd_inspector_demo").mkdir()
    path = tmp_path / "autograd_inspector_demo" / "program.py"
    path.write_text(PROGRAM)
    assert told_by(path, PACKAGE.parent) == expected


def test_the_package_imported_through_a_symbolic_link(tmp_path, expected):
    """Its frames are ours by the path that it was imported by."""
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "autograd_inspector").symlink_to(PACKAGE, target_is_directory=True)
    assert told_by(tmp_path / "program.py", tmp_path / "linked") == expected


def test_a_finding_shows_the_programs_lines_alone():
    """Not even where the inspector is what calls the program: a preflight runs the loss function."""
    net, aside = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = torch.optim.SGD([*net.parameters(), *aside.parameters()], lr=0.1)
    model = nn.ModuleDict({"net": net, "aside": aside})
    check = autograd_inspector.preflight(model, torch.ones(4, 2), lambda m, x: m["net"](x).sum(), optimizer)
    places = [place for finding in check.report.findings for place in finding.locations]
    assert places
    assert {Path(place.filename).name for place in places} == {Path(__file__).name}


def test_an_exception_comes_without_our_frames():
    """The traceback that the user sees has frames of the program and of torch, though our recorder called torch."""

    def program():
        with autograd_inspector.inspect():
            nn.Sequential(nn.Linear(2, 2))(torch.ones(1, 3))

    with pytest.raises(RuntimeError, match="cannot be multiplied") as raised:
        program()
    frames = [frame.filename for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert any("torch" in name for name in frames)
    assert not [name for name in frames if name.startswith(str(PACKAGE))]
