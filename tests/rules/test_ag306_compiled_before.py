"""AG306 where code was compiled before a module in it got a hook."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, silent, trained

BACKENDS = ("eager", "aot_eager")
X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def from_scratch():
    """Each program compiles anew."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Training:
    def __init__(self, backend):
        self.net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        self.forward = torch.compile(self.net, backend=backend)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self):
        trained(self.optimizer, self.forward(X).pow(2).mean())


def masked(module, inputs, output):
    return output * torch.tensor([1.0, 0.0, 1.0, 0.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hook_that_comes_too_late(backend):
    """What was compiled without the hook goes on without it."""

    def program():
        training = Training(backend)
        training.step()
        training.net[0].register_forward_hook(masked)  # late
        training.step()

    finding = diagnosed(program, "AG306", "# late", "masked", "Sequential", severity="warning")
    assert "never runs" in finding.message


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_that_run(backend):
    """Registered before the first call, or before code that is compiled anew."""

    def before():
        torch.compiler.reset()
        training = Training(backend)
        training.net[0].register_forward_hook(masked)
        for _ in range(2):
            training.step()

    def anew():
        torch.compiler.reset()
        training = Training(backend)
        training.step()
        training.net[0].register_forward_hook(masked)
        torch.compiler.reset()
        training.step()

    silent(before, anew)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hook_for_a_call_in_between(backend):
    """The module itself is called, which is not compiled, and its hook is removed again."""

    def program():
        training = Training(backend)
        training.step()
        handle = training.net[0].register_forward_hook(masked)
        with torch.no_grad():
            training.net(X)
        handle.remove()
        training.step()

    silent(program)
