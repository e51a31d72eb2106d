"""What anomaly mode says of a program: the same errors, warnings and quoted stacks in a block as without one."""

import subprocess
import sys
import traceback
import warnings
from contextlib import nullcontext

import pytest
import torch
from torch.fx import traceback as quoted

import autograd_inspector
from tests.undisturbed import anomaly_programs

pytestmark = pytest.mark.undisturbed


@pytest.fixture(autouse=True)
def every_time():
    """Torch says some things once a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


QUOTES = "Traceback of forward call that caused the error"


def told(program, block, anomaly=None):
    """(warnings with their places, the error) of a program under anomaly mode."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with anomaly or nullcontext(), block or nullcontext():
            torch.manual_seed(0)
            error = None
            try:
                program()
            except (RuntimeError, ValueError) as raised:
                error = f"{type(raised).__name__}: {raised}"
    return [(each.category.__name__, str(each.message), each.filename, each.lineno) for each in caught], error


def within(program):
    """The program with anomaly mode entered in the block, and only there."""

    def run():
        with torch.autograd.detect_anomaly():
            program()

    return run


@pytest.mark.parametrize("values", [False, True], ids=["metadata", "values"])
@pytest.mark.parametrize("program", anomaly_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_errors_and_warnings_are_those_of_the_plain_run(program, values):
    """Line by line, whether the mode is entered inside the block or was on before it."""
    found = [
        (told(within(program), block()), told(program, block(), torch.autograd.detect_anomaly()))
        for block in (lambda: None, lambda: autograd_inspector.inspect(values=values))
    ]
    plain, inspected = found
    assert any(QUOTES in text for _, text, *_ in plain[0][0])
    assert inspected == plain


def quotes(loss):
    """What torch keeps of the forward with each node of a graph."""
    left, seen, found = [loss.grad_fn], set(), []
    while left:
        node = left.pop()
        if node is not None and node not in seen:
            seen.add(node)
            found.append((node.name(), node.metadata.get("traceback_")))
            left += [before for before, _ in node.next_functions]
    return found


def test_what_torch_keeps_with_each_node():
    """Also after the block."""
    found = []
    for block in (nullcontext(), autograd_inspector.inspect()):
        with torch.autograd.set_detect_anomaly(True):
            with block:
                loss = anomaly_programs.Net()(torch.ones(2, 3))
            found.append(quotes(loss))
    plain, inspected = found
    assert sum(bool(stack) for _, stack in plain) > 5
    assert inspected == plain


@pytest.mark.parametrize("limit", [1, 3, -2])
def test_a_limit_on_the_frames_of_tracebacks(monkeypatch, limit):
    """So many of the program's own frames are quoted."""
    monkeypatch.setattr(sys, "tracebacklimit", limit, raising=False)
    plain, inspected = (told(within(anomaly_programs.modules), block) for block in (None, autograd_inspector.inspect()))
    assert QUOTES in plain[0][-1][1]
    assert inspected == plain


def test_a_function_of_the_programs_that_gives_the_text(monkeypatch):
    """Its source is not at hand, or it has a result of its own."""
    names = {"traceback": traceback}
    exec("def format_stack():\n    return traceback.format_list(traceback.extract_stack()[:-1])", names)
    monkeypatch.setattr(quoted, "format_stack", names["format_stack"])
    plain, inspected = (told(within(anomaly_programs.modules), block) for block in (None, autograd_inspector.inspect()))
    assert inspected == plain
    assert quoted.format_stack is names["format_stack"]


def test_a_stack_that_the_program_noted_before():
    """Torch quotes that one, as it is."""
    with torch.autograd.set_detect_anomaly(True), autograd_inspector.inspect(), quoted.preserve_node_meta():
        quoted.set_stack_trace(["noted"])
        loss = torch.zeros(3, requires_grad=True).sum()
    assert loss.grad_fn.metadata["traceback_"] == ["noted"]


def test_the_function_of_torchs_is_as_before():
    """The object is the same in the block, its code is its own again afterwards."""
    function, code = quoted.format_stack, quoted.format_stack.__code__
    with autograd_inspector.inspect():
        assert quoted.format_stack is function
    assert quoted.format_stack is function
    assert function.__code__ is code


SCRIPT = """
import warnings
import torch
warnings.showwarning = lambda message, *_: print(message)
with torch.autograd.detect_anomaly():
    x = torch.zeros(3, requires_grad=True)
    try:
        (torch.nn.functional.relu(torch.sqrt(x)) * 0).sum().backward()
    except RuntimeError as error:
        print(error)
"""


def test_a_script_that_the_command_runs(tmp_path):
    """No frame outside the script's is quoted."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    runs = ([str(script)], ["-m", "autograd_inspector", "run", str(script)])
    plain, inspected = (
        subprocess.run([sys.executable, *run], capture_output=True, text=True, check=False).stdout for run in runs
    )
    assert QUOTES in plain
    assert inspected.startswith(plain)
