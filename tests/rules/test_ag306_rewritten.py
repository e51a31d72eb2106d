"""AG306: gradients that a hook or an assignment changed."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, quoted, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def hooked(hook, target="weight"):
    net = nn.Linear(4, 1)
    getattr(net, target).register_hook(hook)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, F.mse_loss(net(X), Y))


def test_hook_that_returns_zeros():
    """A hook that returns zeros stops its parameter; one that scales does not."""

    def zeroed(grad):
        return grad * 0

    def scaled(grad):
        return grad * 0.5

    diagnosed(
        lambda: hooked(zeroed), "AG306", "register_hook(hook)", "weight", "zeroed",
        severity="warning", where=hooked, values=True,
    )  # fmt: skip
    calm(lambda: hooked(scaled), lambda: hooked(lambda grad: None))


def test_hook_that_edits_in_place():
    """A hook must not modify its argument: the tensor may be shared with another branch."""

    def in_place(grad):
        grad.mul_(0.1)

    def sick():
        hidden = nn.Linear(4, 4)
        head, skip = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*hidden.parameters(), *head.parameters(), *skip.parameters()], lr=0.1)
        h = hidden(X)
        left, right = h * 1.0, h * 1.0
        left.register_hook(in_place)
        trained(optimizer, (head(left) + skip(right)).pow(2).mean())

    found = diagnosed(sick, "AG306", "grad.mul_(0.1)", "mul_", severity="warning", where=in_place)
    assert "modified values" in found.message
    assert quoted(found.fix)[:2] == ["mul", "mul_"]


def test_hook_that_edits_an_alias_in_place():
    """A detached alias, and a view of that, have the memory of the gradient; a copy has its own."""
    sizes = []

    def alias(grad):
        sizes.append(grad.detach().view(-1).abs_().sum())

    def copied(grad):
        sizes.append(grad.detach().clone().view(-1).abs_().sum())
        sizes.append(grad.detach().abs().clamp_(min=1e-3).sum())

    diagnosed(lambda: hooked(alias), "AG306", "abs_()", "weight", severity="warning", where=alias)
    calm(lambda: hooked(copied))


def test_clamp_that_forgot_to_return():
    """`grad.clamp(...)` without return does nothing: nothing is rewritten, and AG205 tells it."""

    def forgetful(grad):
        grad.clamp(-1, 1)

    def clamped(grad):
        return grad.clamp(-1, 1)

    diagnosed(lambda: hooked(forgetful), "AG205", "grad.clamp(-1, 1)", severity="warning", where=forgetful)
    calm(lambda: hooked(clamped))


def low_rank(hook="", factor=""):
    """Two factors, one of which begins at zero, and a hook on one of them; two steps and one more."""

    def program():
        down, up = nn.Linear(4, 2, bias=False), nn.Linear(2, 1, bias=False)
        nn.init.zeros_(up.weight)
        if hook:
            {"down": down, "up": up}[factor].weight.register_hook(HOOKS[hook])  # Hooked.
        optimizer = torch.optim.SGD([*down.parameters(), *up.parameters()], lr=0.1)
        for _ in range(3):
            trained(optimizer, F.mse_loss(up(down(X)), Y))

    return program


HOOKS = {"zeros": torch.zeros_like, "half": lambda grad: grad / 2}


@pytest.mark.parametrize("factor", ["down", "up"])
def test_hook_on_a_factor_beside_one_that_begins_at_zero(factor):
    """The zero that the first step makes up for explains no later one, and lasts where a hook keeps it: told once."""
    sick = low_rank("zeros", factor)
    diagnosed(sick, "AG306", "# Hooked.", f"{factor}.weight", severity="warning", where=low_rank, values=True)
    calm(low_rank(), low_rank("half", factor))


def test_gradients_that_share_memory():
    """Assigning one parameter's .grad to another makes them one tensor; a clone does not."""

    def program(copy_of):
        first, second = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(first(X), Y).backward()
            for a, b in zip(first.parameters(), second.parameters(), strict=True):
                b.grad = copy_of(a.grad)
            optimizer.step()

    diagnosed(
        lambda: program(lambda grad: grad), "AG306", "b.grad = copy_of(a.grad)", "second.weight", "first.weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(torch.clone))


def test_gradients_handed_over():
    """A model that is stepped with another one's gradients, on purpose: a worker's, a clone's."""

    def shared_with_a_worker():
        worker, shared = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.Adam(shared.parameters(), lr=0.1)
        for _ in range(3):
            worker.load_state_dict(shared.state_dict())
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(worker(X), Y).backward()
            nn.utils.clip_grad_norm_(worker.parameters(), 1.0)
            for mine, theirs in zip(worker.parameters(), shared.parameters(), strict=True):
                if theirs.grad is None:
                    theirs.grad = mine.grad
            optimizer.step()

    def first_order_meta_learning():
        meta = nn.Linear(4, 1)
        outer = torch.optim.SGD(meta.parameters(), lr=0.1)
        for _ in range(2):
            outer.zero_grad()
            for scale in (0.5, 1.0):
                fast = copy.deepcopy(meta)
                inner = torch.optim.SGD(fast.parameters(), lr=0.1)
                trained(inner, F.mse_loss(fast(X), scale * Y))
                fast.zero_grad()
                F.mse_loss(fast(X), scale * Y).backward()
                for p, q in zip(meta.parameters(), fast.parameters(), strict=True):
                    if p.grad is None:
                        p.grad = q.grad
                    else:
                        p.grad += q.grad
            outer.step()

    def both_learn():
        first, second = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
        F.mse_loss(first(X), Y).backward()
        for a, b in zip(first.parameters(), second.parameters(), strict=True):
            b.grad = a.grad
        F.mse_loss(second(X), Y).backward()
        optimizer.step()

    def cleared_too_early():
        worker, shared = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.SGD(shared.parameters(), lr=0.1)
        for _ in range(2):
            worker.load_state_dict(shared.state_dict())
            F.mse_loss(worker(X), Y).backward()
            for mine, theirs in zip(worker.parameters(), shared.parameters(), strict=True):
                theirs.grad = mine.grad
            worker.zero_grad(set_to_none=False)
            optimizer.step()

    calm(shared_with_a_worker, first_order_meta_learning)
    diagnosed(cleared_too_early, "AG306", "theirs.grad = mine.grad", "shared", "worker", severity="warning")
    diagnosed(
        both_learn, "AG306", "b.grad = a.grad", "first.weight", "second.weight",
        severity="warning", besides=("AG305", "AG404"),
    )  # fmt: skip


def test_gradient_surgery():
    """Replacing .grad by something computed from gradients (averages, projections, noise) is what optimizers do."""

    def averaged():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            for p in net.parameters():
                p.grad = p.grad / 2 + 1e-3 * torch.randn_like(p)
            optimizer.step()

    def projected():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        params = list(net.parameters())
        one = torch.autograd.grad(F.mse_loss(net(X), Y), params)
        two = torch.autograd.grad(net(X).pow(2).mean(), params)
        for p, a, b in zip(params, one, two, strict=True):
            p.grad = a - (a * b).sum() / b.pow(2).sum().clamp(min=1e-8) * b
        optimizer.step()

    def accumulated_by_hand():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = [torch.zeros_like(p) for p in net.parameters()]
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            for t, p in zip(total, net.parameters(), strict=True):
                t.add_(p.grad)
        for t, p in zip(total, net.parameters(), strict=True):
            p.grad = t
        optimizer.step()

    calm(averaged, projected, accumulated_by_hand)


def test_gradient_replaced_by_something_else():
    """Noise, or the parameter itself, assigned to .grad is no gradient."""

    def noise():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        F.mse_loss(net(X), Y).backward()
        for p in net.parameters():
            p.grad = torch.randn_like(p)
        optimizer.step()

    diagnosed(noise, "AG306", "p.grad = torch.randn_like(p)", "weight", severity="warning")


def test_gradients_carried_off_by_a_hook():
    """Gradients that post-accumulate hooks offload during backward are given back, scaled, before the step."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        kept = {}

        def carry(parameter):
            kept[parameter] = parameter.grad.double()
            parameter.grad = None

        for parameter in net.parameters():
            parameter.register_post_accumulate_grad_hook(carry)
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            for parameter in net.parameters():
                parameter.grad = (kept[parameter] / 2).float()
            optimizer.step()
            optimizer.zero_grad()

    calm(program)


def test_evolution_strategy():
    """An estimate assigned to .grad where backward never ran is the program's own gradient."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            with torch.no_grad():
                for p in net.parameters():
                    noise = torch.randn_like(p)
                    p.grad = noise * F.mse_loss(net(X), Y)
            optimizer.step()

    calm(program)


def test_hook_on_an_activation():
    """A hook that turns an activation's gradient into zeros stops what lies before it, however it does so."""

    def reversed_by(strengths, own_loss=0.0):
        encoder, domain = nn.Linear(4, 3), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*encoder.parameters(), *domain.parameters()], lr=0.1)
        for strength in strengths:
            h = encoder(X).tanh()
            h.register_hook(lambda g, strength=strength: -strength * g)
            trained(optimizer, F.mse_loss(domain(h), Y) + own_loss * encoder(X).pow(2).mean())

    diagnosed(
        lambda: reversed_by([0.0, 0.0]), "AG306", "h.register_hook(", "tanh", "encoder.weight", "lambda",
        severity="warning", where=reversed_by, values=True,
    )  # fmt: skip
    calm(
        lambda: reversed_by([0.0, 0.5]),
        lambda: reversed_by([0.0, 0.0], own_loss=1.0),
        lambda: reversed_by([1.0, 1.0]),
    )


def test_module_pre_hooks():
    """A full backward pre-hook that returns zeros stops its module and what lies before it."""

    def program(hook):
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        net[1].register_full_backward_pre_hook(hook)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.mse_loss(net(X), Y))

    def blocking(module, grad_output):
        return tuple(torch.zeros_like(g) for g in grad_output)

    def halving(module, grad_output):
        return tuple(g / 2 for g in grad_output)

    diagnosed(
        lambda: program(blocking), "AG306", "register_full_backward_pre_hook", "blocking", "0.weight",
        severity="warning", where=program, values=True,
    )  # fmt: skip
    calm(lambda: program(halving), lambda: program(lambda module, grad_output: None))


def test_module_hooks():
    """A full backward hook that looks, and one that replaces grad_input with zeros."""

    def looking(module, grad_input, grad_output):
        module.seen = grad_output[0].shape

    def blocking(module, grad_input, grad_output):
        return tuple(None if g is None else torch.zeros_like(g) for g in grad_input)

    def program(hook):
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        net[1].register_full_backward_hook(hook)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.mse_loss(net(X), Y))

    diagnosed(
        lambda: program(blocking), "AG306", "register_full_backward_hook", "blocking", "0.weight",
        severity="warning", where=program, values=True,
    )  # fmt: skip
    calm(lambda: program(looking))


def test_a_gradient_that_a_step_has_used_is_not_replaced():
    """Zeros for what the loss of this round does not reach, after zero_grad() has cleared what the last step used."""

    def filled_up():
        experts = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])
        optimizer = torch.optim.SGD(experts.parameters(), lr=0.1)
        for expert in experts:
            optimizer.zero_grad()
            F.mse_loss(expert(X), Y).backward()
            for p in experts.parameters():
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
            optimizer.step()

    calm(filled_up)


def held_back(*, until):
    """The first steps leave a layer where it is."""
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        F.mse_loss(net(X), Y).backward()
        if step < until:
            net[1].weight.grad = torch.zeros_like(net[1].weight)
        optimizer.step()


def test_zeros_in_the_first_steps_hold_a_layer_back():
    """Zeros are assigned instead of some gradients, and later steps use the others; in all steps they are a finding."""
    calm(lambda: held_back(until=2))
    diagnosed(
        lambda: held_back(until=3), "AG306", "net[1].weight.grad =", "zeros_like", severity="warning", where=held_back
    )
