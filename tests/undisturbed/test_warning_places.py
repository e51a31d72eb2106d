"""Many programs under many filters: the same warnings at the same lines, and the same filters and registries after."""

import copy
import json
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import autograd_inspector
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.recording.registry import Registry
from autograd_inspector.capture.undisturbed.warnings import front_filter as front
from autograd_inspector.capture.undisturbed.warnings import showing as shown
from autograd_inspector.capture.undisturbed.warnings.own import InspectorWarning
from tests.undisturbed import warning_programs

pytestmark = pytest.mark.undisturbed

PROGRAMS = Path(warning_programs.__file__)


def run(*arguments, cwd=None):
    """What a Python process of its own prints."""
    command = [sys.executable, "-W", "default", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


@pytest.fixture(scope="module")
def outcomes():
    """What came of each program under each filter, without us and in a block."""
    return tuple(json.loads(run(str(PROGRAMS), how).stdout) for how in ("plain", "inspected"))


@pytest.mark.parametrize("program", [program.__name__ for program in warning_programs.PROGRAMS])
def test_a_block_changes_no_warning(outcomes, program):
    """Text, category, file, line and count; errors that filters make of them; lists of filters, registries."""
    plain, inspected = ({key: found for key, found in each.items() if key.split()[0] == program} for each in outcomes)
    assert any(found["shown"] or found["recorded"] for found in plain.values())
    assert {key: inspected[key] for key in plain if inspected[key] != plain[key]} == {}


SCRIPT = """
import sys, warnings
import torch
from torch.nn import functional as F
def computed(x):
    warnings.warn("computed", stacklevel=2)
    F.mse_loss(x, torch.ones(4))
    warnings.warn("far out", stacklevel=30)
    return x
warnings.simplefilter("always")
warnings.showwarning = lambda m, c, f, n, *_: print(str(m)[:40], f.rsplit("/", 1)[-1], n)
"""


def test_the_command_runs_a_script_with_the_same_warnings(tmp_path):
    """Our frames outside the script's are not there for a stack level either."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + "computed(torch.ones(3, 4, requires_grad=True))\n")
    plain = run(str(script)).stdout.splitlines()
    inspected = run("-m", "autograd_inspector", "run", str(script)).stdout.splitlines()
    assert len(plain) == 3
    assert inspected[:3] == plain


def test_compiled_functions_warn_from_the_same_lines(tmp_path):
    """Around a compiled call there are frames of ours, too."""
    script = tmp_path / "script.py"
    call = "torch.compile(computed, backend='eager')(torch.ones(3, 4, requires_grad=True))\n"
    inside = "import autograd_inspector\nwith autograd_inspector.inspect(): "
    script.write_text(SCRIPT + "\n" + call)
    plain = run(str(script)).stdout
    script.write_text(SCRIPT + inside.splitlines()[0] + "\n" + inside.splitlines()[1] + call)
    assert plain
    assert run(str(script)).stdout == plain


def test_a_line_that_warned_before_does_not_warn_again(recwarn):
    """A block does not count as a change of the filters, which would make every registry forget."""

    def read():
        y.grad

    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        y = torch.ones(3, requires_grad=True) * 2
        warnings.simplefilter("default")
        read()
        with autograd_inspector.inspect():
            read()
            read()
        read()
    finally:
        torch.set_warn_always(before)
    assert len(recwarn) == 1


def test_a_program_that_never_warns_pays_nothing(monkeypatch):
    """No stack is walked where nothing is raised."""
    walked = []
    original = shown.Stack

    def counted(frame):
        walked.append(frame.f_lineno)
        return original(frame)

    monkeypatch.setattr(shown, "Stack", counted)
    with warnings.catch_warnings(), autograd_inspector.inspect():
        warnings.simplefilter("error")
        nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
    assert walked == []
    with warnings.catch_warnings(record=True), autograd_inspector.inspect():
        warnings.warn("one", stacklevel=1)
    assert len(walked) > 0


def test_the_entry_is_harmless_to_whoever_copies_the_filters():
    """Libraries hand the filters to workers, and make new ones of their parts."""
    with autograd_inspector.inspect():
        filters = warnings.filters[:]
    assert filters[0] is front.ENTRY
    assert front.ENTRY not in warnings.filters
    assert pickle.loads(pickle.dumps(filters))[0][3].match("__main__") is False
    assert copy.deepcopy(filters)[0][3].match("__main__") is False
    with warnings.catch_warnings(record=True) as seen:
        warnings.resetwarnings()
        warnings.filterwarnings("error", module=front.ENTRY[3].pattern)
        warnings.warn("mine", stacklevel=1)
    assert len(seen) == 1


def test_lists_of_filters_that_are_gone_are_forgotten():
    """A program may enter catch_warnings at every step."""
    keeper = front.Front()
    keeper.put()
    try:
        for _ in range(100):
            with warnings.catch_warnings():
                keeper.put()
        assert len(keeper._lists) < 5
    finally:
        keeper.take_out()
    assert front.ENTRY not in warnings.filters


def test_taking_out_twice_is_taking_out_once():
    """Also where nothing was put in."""
    before = list(warnings.filters)
    keeper = front.Front()
    keeper.take_out()
    keeper.put()
    keeper.take_out()
    keeper.take_out()
    assert warnings.filters == before


def test_what_an_observer_does_is_no_warning_of_the_programs(monkeypatch):
    """Nobody is told of what the program did not do, not even by an error."""
    place_of = Modules.place_of

    def warning(self, module):
        warnings.warn("not the program's", stacklevel=2)
        return place_of(self, module)

    monkeypatch.setattr(Modules, "place_of", warning)
    with warnings.catch_warnings(record=True) as seen, autograd_inspector.inspect() as inspection:
        warnings.simplefilter("error")
        nn.ReLU()(torch.ones(2))
    assert seen == []
    assert not inspection.report.capture.stopped


def test_our_own_warning_names_a_line_of_the_programs(monkeypatch):
    """It says that recording stopped, where the program was at that moment."""

    def failing(*_args, **_kwargs):
        raise ZeroDivisionError("injected")

    with warnings.catch_warnings(record=True) as seen, autograd_inspector.inspect():
        warnings.simplefilter("always")
        monkeypatch.setattr(Registry, "add", failing)
        torch.ones(2).exp()
        monkeypatch.undo()
    assert [(w.category, w.filename) for w in seen] == [(InspectorWarning, __file__)]


def test_a_showwarning_that_warns_and_computes_is_left_alone():
    """What it raises in turn is a warning of its own, with its own place."""
    told = []

    def show(message, category, filename, lineno, file=None, line=None):
        told.append((str(message)[:12], filename))
        if len(told) == 1:
            F.mse_loss(torch.ones(3, 4), torch.ones(4))

    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(), autograd_inspector.inspect():
            warnings.simplefilter("always")
            warnings.showwarning = show
            (torch.ones(3, requires_grad=True) * 2).grad
    finally:
        torch.set_warn_always(before)
    assert told == [("The .grad at", __file__), ("Using a targ", __file__)]


def test_threads_warn_for_themselves():
    """What one thread raises again is not taken for another's."""
    told, started = [], threading.Barrier(4)

    def work():
        started.wait()
        for _ in range(20):
            F.mse_loss(torch.ones(3, 4), torch.ones(4))

    def show(message, category, filename, lineno, file=None, line=None):
        told.append(filename)

    with warnings.catch_warnings(), autograd_inspector.inspect():
        warnings.simplefilter("always")
        warnings.showwarning = show
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
    assert told == [__file__] * 80
