"""What reports say of programs whose code is compiled: the same as of the same code uncompiled, at the same lines."""

import importlib

import pytest
import torch
import torch._dynamo
from torch._dynamo.convert_frame import register_bytecode_hook

from autograd_inspector.own_files import is_own_file
from tests.compiled import backend
from tests.compiled.sample import healthy, kinds, sampled
from tests.compiled.score import names, score

CASES = sampled()


@pytest.fixture(autouse=True)
def from_scratch():
    """Each program compiles anew, with Dynamo's own settings, and nothing of the inspector is compiled."""
    ours = []
    torch._dynamo.reset()
    handle = register_bytecode_hook(lambda code, _: ours.append(code) if is_own_file(code.co_filename) else None)
    with torch._dynamo.config.patch(trace_numpy=True, compiled_autograd=False):  # Programs set these.
        yield
    handle.remove()
    torch._dynamo.reset()
    assert ours == []


@pytest.mark.parametrize(("name", "chosen"), CASES, ids=["-".join(case) for case in CASES])
def test_a_compiled_program(name, chosen, monkeypatch):
    """Its fault is found at the line in the compiled function; of a healthy one nothing is told."""
    monkeypatch.setattr(backend, "BACKEND", chosen)
    importlib.reload(importlib.import_module(f"tests.compiled.programs.{name}"))
    torch.manual_seed(0)
    wrong, said = score(name)
    assert not wrong, "\n".join([wrong, *said])


def test_every_kind_of_fault_is_tried():
    """Where only a share of the programs runs, each rule and each exception that one is written for is there."""
    sick = [name for name in names() if not healthy(name)]
    tried = {kind for case in CASES if not healthy(case[0]) for kind in kinds(case)}
    assert tried == {kind for name in sick for kind in kinds((name, "eager"))}
