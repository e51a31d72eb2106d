"""Lines of the inspector itself are no lines of the program."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector import own_files
from autograd_inspector.capture.lines.stacks import SKIP, USER, classify

PACKAGE = Path(autograd_inspector.__file__).parent


def test_every_file_of_ours_is_skipped():
    """Wherever a file of the package lies, its frames are left out of all stacks; those of this test are not."""
    files = [path for path in PACKAGE.rglob("*.py") if "static" not in path.parts]
    assert len(files) > 300
    assert {str(path) for path in files if classify(str(path)) != SKIP} == set()
    assert classify(__file__) == USER


def test_stacks_of_the_program_leave_our_frames_out():
    """What counts as ours is the whole package, and what runs a program is a folder of it that is there."""
    assert f"{PACKAGE}/" == own_files.PACKAGE
    assert f"{PACKAGE / 'frontends' / 'cli'}/" == own_files.RUNNERS
    assert (PACKAGE / "frontends" / "cli" / "script.py").is_file()


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
