"""torch.func: grad, vmap, jvp and what is made of them."""

import pytest
import torch
from torch.func import functional_call, grad, hessian, jacrev, jvp, vmap

import autograd_inspector
from tests.capture.observe import names, observe

X = torch.tensor([0.5, 1.5, 2.5])
MODEL = torch.nn.Linear(3, 1)


class Cube(torch.autograd.Function):
    """A custom Function that functorch can take."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


PROGRAMS = {
    "grad": lambda: grad(lambda t: t.sin().sum())(X),
    "vmap": lambda: vmap(lambda t: t.sin())(X),
    "jvp": lambda: jvp(lambda t: t.sin(), (X,), (X,)),
    "jacrev": lambda: jacrev(lambda t: t.sin())(X),
    "hessian": lambda: hessian(lambda t: t.sin().sum())(X),
    "per-sample": lambda: vmap(grad(lambda t: t.sin()))(X),
    "functional": lambda: grad(lambda p: functional_call(MODEL, p, (X,)).sin().sum())(dict(MODEL.named_parameters())),
    "custom": lambda: (Cube.apply(X).sin(), vmap(grad(Cube.apply))(X)),
}


def flat(values):
    if isinstance(values, torch.Tensor):
        return [values]
    values = values.values() if isinstance(values, dict) else values
    return [leaf for value in values for leaf in flat(value)]


@pytest.mark.parametrize("way", PROGRAMS)
def test_transforms_compute_the_same_and_are_observed(way):
    """Inside a transform ops are recorded, and the result has the same bits."""
    plain, inspected = PROGRAMS[way](), []
    capture = observe(lambda: inspected.append(PROGRAMS[way]()))
    assert "sin" in names(capture)
    assert all(torch.equal(a, b) for a, b in zip(flat(plain), flat(inspected[0]), strict=True))


@pytest.mark.parametrize("way", PROGRAMS)
def test_transforms_with_values_read(way):
    """Inside a transform there are no values to read: the program runs on, and nothing is said to have failed."""
    plain, inspected = PROGRAMS[way](), []
    with autograd_inspector.inspect(values=True) as inspection:
        inspected.append(PROGRAMS[way]())
    assert not inspection.report.notes
    assert all(torch.equal(a, b) for a, b in zip(flat(plain), flat(inspected[0]), strict=True))
