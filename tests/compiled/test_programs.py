"""What reports say of programs whose code is compiled: the same as of the same code uncompiled, at the same lines."""

import importlib

import pytest
import torch
import torch._dynamo
from torch._dynamo.convert_frame import register_bytecode_hook

from autograd_inspector.own_files import is_own_file
from tests.compiled import backend
from tests.compiled.score import names, score

SLOW = {"detach_in_encoder", "healthy_plain", "no_grad_block", "compiled_train_step_detach", "healthy_optimizer_step"}
"""Those that are also compiled by inductor, which takes seconds."""
CASES = [(name, "aot_eager") for name in names()]
CASES += [(name, "eager") for name in names() if not name.startswith("healthy")]
CASES += [(name, "inductor") for name in sorted(SLOW)]


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
