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


@pytest.mark.parametrize("inside", [True, False], ids=["within vmap", "behind vmap"])
def test_a_cut_at_a_transform(inside):
    """A detach() within vmap, or of what vmap returned, explains why what was computed in it gets no gradient."""
    weight, scale = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    optimizer = torch.optim.SGD([weight, scale], lr=0.1)

    def program():
        scores = vmap(lambda row: (row * weight).detach() if inside else row * weight)(torch.ones(2, 3))
        loss = ((scores if inside else scores.detach()) * scale).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    with autograd_inspector.inspect() as inspection:
        program()
        program()
    (cut,) = [finding for finding in inspection.report.findings if finding.severity != "info"]
    assert cut.rule == "AG101"
    assert "weight" in cut.message
    assert cut.locations[0].lineno == program.__code__.co_firstlineno + (1 if inside else 2)
