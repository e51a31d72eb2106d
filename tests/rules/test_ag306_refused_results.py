"""AG306: what a hook returns in place of a gradient, and torch refuses."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, inspected, silent


def test_a_hook_returns_a_norm():
    """The return statement of the hook that ran last is pointed at, with both shapes."""

    def program():
        net = nn.Linear(4, 1, bias=False)
        net.weight.register_hook(lambda grad: 2 * grad)

        def clip(grad):
            if grad.isnan().any():
                return None
            return grad.norm().clamp(max=1.0)  # Not the gradient.

        net.weight.register_hook(clip)
        net(torch.ones(3, 4)).mean().backward()

    diagnosed(program, "AG306", "return grad.norm()", "clip", "shape []", "shape [1, 4]", "weight", severity="error")


@pytest.mark.parametrize(
    ("hook", "what"),
    [
        (lambda grad: 1.0, "float"),
        (lambda grad: (grad,), "tuple"),
        (lambda grad: grad.double(), "torch.DoubleTensor"),
        (lambda grad: grad.to("meta"), "MetaFloatType"),
    ],
    ids=["number", "tuple", "dtype", "device"],
)
def test_a_hook_returns_another_type(hook, what):
    """What torch says of the result is said, and the place of the registration."""

    def program():
        net = nn.Linear(4, 2)
        net.weight.register_hook(hook)
        net(torch.ones(3, 4)).mean().backward()

    (finding,) = inspected(program).findings
    assert (finding.rule, finding.severity) == ("AG306", "error")
    assert what in finding.message
    roles = [place.role for place in finding.locations if place.role != "called from"]
    assert roles == ["returned by the hook here", "hook registered here", "backward failed here"]


def test_a_post_accumulate_hook_returns_the_gradient():
    """A hook that runs after the accumulation has to return None."""

    def program():
        net = nn.Linear(4, 2)

        def halved(p):
            p.grad.mul_(0.5)
            return p.grad

        net.weight.register_post_accumulate_grad_hook(halved)
        net(torch.ones(3, 4)).mean().backward()

    diagnosed(program, "AG306", "return p.grad", "halved", "weight", severity="error")


@pytest.mark.parametrize(
    "made",
    [lambda grads: grads[0], lambda grads: (grads[0], grads[0]), lambda grads: 1.0],
    ids=["tensor", "two", "number"],
)
def test_a_module_hook_returns_no_tuple_of_that_length(made):
    """The class of the module is said, also where torch cannot ask for the length of what it got."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))

        def rewrite(module, grad_input, grad_output):
            return made(tuple(grad.sum() for grad in grad_input))

        net[1].register_full_backward_hook(rewrite)
        net(torch.ones(3, 4)).mean().backward()

    diagnosed(program, "AG306", "return made(", "rewrite", "Linear", severity="error")


def test_hooks_that_raise():
    """An exception of the program's own, also one with those words, is no result of a hook."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))

        def check(module, grad_input, grad_output):
            raise RuntimeError("Backward hook got what it did not expect")

        net[1].register_full_backward_hook(lambda module, grad_input, grad_output: grad_input)
        net[1].register_full_backward_hook(check)
        net(torch.ones(3, 4)).mean().backward()

    assert not inspected(program).findings


def test_hooks_whose_results_fit():
    """A scaled gradient, None, a tuple of a module hook, and a post-accumulate hook that returns nothing."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net[0].weight.register_hook(lambda grad: grad * (1.0 / (grad.norm() + 1e-6)).clamp(max=1.0))
        net[0].bias.register_hook(lambda grad: None)
        net[1].register_full_backward_hook(lambda module, grad_input, grad_output: (0.5 * grad_input[0],))
        net(torch.ones(3, 4)).mean().backward()
        optimizer.step()

    silent(program)
