"""AG302: gradients that are not where the program looks for them."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, silent
from .twins import calm

X = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))


def test_leaf_moved_to_another_dtype():
    """`.to()` of a leaf returns a non-leaf, whose .grad stays None."""

    def sick():
        w = torch.randn(3, 1, requires_grad=True).to(torch.float64)
        (X.double() @ w).pow(2).mean().backward()
        return w.grad

    def healthy():
        w = torch.randn(3, 1).to(torch.float64).requires_grad_()
        (X.double() @ w).pow(2).mean().backward()
        return w.grad

    diagnosed(sick, "AG302", ".to(torch.float64)", "w", severity="warning")
    calm(healthy)


def test_weight_scaled_at_creation():
    """`torch.randn(..., requires_grad=True) * 0.01` is a non-leaf: Xavier scaling by hand loses the weight."""

    def sick():
        w1 = torch.randn(3, 4, requires_grad=True) * 0.01
        w2 = torch.ones(4, 1, requires_grad=True)
        ((X @ w1).relu() @ w2).pow(2).mean().backward()
        with torch.no_grad():
            w1 -= 0.1 * w1.grad
            w2 -= 0.1 * w2.grad

    def healthy():
        w1 = (torch.randn(3, 4) * 0.01).requires_grad_()
        w2 = torch.ones(4, 1, requires_grad=True)
        ((X @ w1).relu() @ w2).pow(2).mean().backward()
        with torch.no_grad():
            w1 -= 0.1 * w1.grad
            w2 -= 0.1 * w2.grad

    finding = diagnosed(sick, "AG302", "requires_grad=True) * 0.01", "w1", severity="error")
    assert "`w1 = (torch.randn(3, 4) * 0.01).requires_grad_()`" in finding.fix
    calm(healthy)


def test_input_replaced_in_each_round():
    """An attack that assigns each new perturbation to the same name has to cut it off and make it a leaf again."""

    def attack(leaf):
        net = nn.Linear(3, 1)
        delta = torch.zeros_like(X, requires_grad=True)
        for _ in range(3):
            net(X + delta).pow(2).mean().backward()
            step = 0.1 * delta.grad.sign()
            delta = leaf((delta + step).clamp(-0.2, 0.2))

    def kept():
        net = nn.Linear(3, 1)
        delta = torch.zeros_like(X, requires_grad=True)
        for _ in range(3):
            net(X + delta).pow(2).mean().backward()
            step = 0.1 * delta.grad.sign()
            delta = (delta + step).clamp(-0.2, 0.2)

    finding = diagnosed(kept, "AG302", "delta = (delta + step)", "delta", severity="error")
    assert "`delta = (delta + step).clamp(-0.2, 0.2).detach().requires_grad_()`" in finding.fix
    calm(lambda: attack(lambda new: new.detach().requires_grad_()))


def test_weight_replaced_by_its_update():
    """`w = w - lr * w.grad` makes a non-leaf of w: the second step finds no gradient."""

    def sick():
        w = torch.randn(3, 1, requires_grad=True)
        for _ in range(2):
            (X @ w).pow(2).mean().backward()
            w = w - 0.1 * w.grad

    def healthy():
        w = torch.randn(3, 1, requires_grad=True)
        for _ in range(2):
            (X @ w).pow(2).mean().backward()
            w = (w - 0.1 * w.grad).detach().requires_grad_()

    diagnosed(sick, "AG302", "w = w - 0.1 * w.grad", "w", severity="error")
    calm(healthy)


def test_gradient_of_an_activation():
    """Saliency reads the gradient of an activation: retain_grad() keeps it."""

    def sick():
        hidden = nn.Linear(3, 4)(X)
        hidden.tanh().sum().backward()
        return hidden.grad

    def healthy():
        hidden = nn.Linear(3, 4)(X)
        hidden.retain_grad()
        hidden.tanh().sum().backward()
        return hidden.grad

    finding = diagnosed(sick, "AG302", "hidden = nn.Linear", "hidden", severity="warning")
    assert "retain_grad" in finding.fix
    calm(healthy)


def test_result_of_a_leaf_that_is_still_there():
    """`h = w * 2` leaves w the leaf that it is: h is an intermediate tensor, which retain_grad() is for."""

    def sick():
        w = torch.randn(3, 1, requires_grad=True)
        h = w * 2
        (X @ h).sum().backward()
        return h.grad, w.grad

    def rewritten():
        w = torch.randn(3, 1, requires_grad=True)
        w = w * 2
        (X @ w).sum().backward()
        return w.grad

    assert "h.retain_grad()" in diagnosed(sick, "AG302", "h = w * 2", "h", severity="warning").fix
    assert "no_grad" in diagnosed(rewritten, "AG302", "w = w * 2", "w", severity="warning").fix


def test_parameters_of_an_optimizer_are_checked_by_torch():
    """A library or a debugger that looks at .grad of every tensor before backward is no mistake of the program."""

    def program():
        w = torch.randn(3, 1, requires_grad=True)
        assert w.grad is None
        (X @ w).sum().backward()
        assert w.grad is not None

    silent(program)


def test_input_normalised_before_saliency():
    """requires_grad_ on the image and reading the gradient of its normalised version are two tensors."""

    def sick():
        image = torch.rand(1, 3).requires_grad_()
        image = (image - 0.5) / 0.5
        nn.Linear(3, 2)(image)[0, 1].backward()
        return image.grad.abs().max()

    def healthy():
        image = torch.rand(1, 3)
        image = ((image - 0.5) / 0.5).requires_grad_()
        nn.Linear(3, 2)(image)[0, 1].backward()
        return image.grad.abs().max()

    diagnosed(sick, "AG302", "image = (image - 0.5) / 0.5", "image", severity="error")
    calm(healthy)


def test_optimizer_given_a_non_leaf():
    """An optimizer refuses a non-leaf tensor."""

    def sick():
        w = torch.randn(3, 1, requires_grad=True).double()
        torch.optim.SGD([w], lr=0.1)

    diagnosed(sick, "AG302", "requires_grad=True).double()", "w", severity="error")


def test_weights_made_in_a_list():
    """A list has no requires_grad_(): it is called on each tensor in it, and that works."""

    def listed(*, last):
        if last:
            ws = [(torch.randn(3) * 0.1).requires_grad_() for _ in range(2)]
        else:
            ws = [torch.randn(3, requires_grad=True) * 0.1 for _ in range(2)]
        sum((w * w).sum() for w in ws).backward()
        return [w.grad for w in ws]

    def generated():
        ws = list(torch.randn(3, requires_grad=True) * 0.1 for _ in range(2))  # noqa: C400
        sum((w * w).sum() for w in ws).backward()
        return [w.grad for w in ws]

    def named():
        ws = {"a": torch.randn(3, requires_grad=True) * 0.1, "b": torch.randn(3)}
        sum((w * w).sum() for w in ws.values()).backward()
        return ws["a"].grad

    for program, culprit, fix in (
        (lambda: listed(last=False), "requires_grad=True", "ws = [(torch.randn(3) * 0.1).requires_grad_() for _ in"),
        (generated, "requires_grad=True", "ws = list(((torch.randn(3) * 0.1).requires_grad_() for _ in range(2)))"),
        (named, "requires_grad=True", "{'a': (torch.randn(3) * 0.1).requires_grad_(), 'b': torch.randn(3)}"),
    ):
        where = program if program in (generated, named) else listed
        found = diagnosed(program, "AG302", culprit, "not a leaf", severity="warning", where=where)
        assert fix in found.fix, found.fix
    calm(lambda: listed(last=True))
