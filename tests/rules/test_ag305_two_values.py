"""AG305: gradients computed at several values of the same parameters, added up and used by one step."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, line_of, summary
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))
SGD = torch.optim.SGD


def batch():
    return torch.randn(8, 4), torch.rand(8, 1)


def fitted(*, clears, kind=torch.optim.LBFGS, rounds=2):
    net = nn.Linear(4, 1)
    optimizer = kind(net.parameters(), lr=0.1)

    def closure():
        if clears:
            optimizer.zero_grad()
        loss = F.mse_loss(net(X), Y)  # Evaluated.
        loss.backward()
        return loss

    for _ in range(rounds):
        optimizer.step(closure)


@pytest.mark.parametrize("rounds", [1, 2, 6])
def test_closure_that_never_clears(rounds):
    """A line search evaluates it at one value after the other: the fault is told once, at the closure."""
    finding = diagnosed(
        lambda: fitted(clears=False, rounds=rounds), "AG305", "Evaluated.", "closure", "weight",
        severity="warning", where=fitted,
    )  # fmt: skip
    lines = [place.lineno for place in finding.locations]
    assert line_of(fitted, "loss.backward()") in lines
    assert line_of(fitted, "optimizer.step(closure)") in lines


def test_closure_whose_backward_is_called_by_another_function():
    """The line that computes the loss comes first, whichever function calls backward() of it."""

    def back(loss):
        loss.backward()

    def backpropagated():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1)

        def closure():
            loss = F.mse_loss(net(X), Y)
            back(loss)
            return loss

        for _ in range(2):
            optimizer.step(closure)

    diagnosed(backpropagated, "AG305", "F.mse_loss(net(X), Y)", "closure", severity="warning")


def test_closure_that_is_evaluated_once():
    """Each step adds to the gradients of the step before; the fix speaks of the closure."""

    def once():
        net = nn.Linear(4, 1)
        optimizer = SGD(net.parameters(), lr=0.1)

        def closure():
            loss = F.mse_loss(net(X), Y)
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)

    finding = diagnosed(once, "AG305", "loss.backward()", "weight", severity="warning")
    assert "beginning of the closure" in finding.fix


def test_closures_that_clear():
    """Or that are evaluated once, or accumulate micro-batches at one value."""

    def accumulates():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)

        def closure():
            optimizer.zero_grad()
            total = 0.0
            for x, y in zip(X.chunk(2), Y.chunk(2), strict=True):
                loss = F.mse_loss(net(x), y)
                loss.backward()
                total += float(loss.detach())
            return total

        for _ in range(2):
            optimizer.step(closure)

    def by_hand():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)

        def closure():
            for p in net.parameters():
                p.grad = None
            loss = F.mse_loss(net(X), Y)
            loss.backward()
            return loss

        optimizer.step(closure)

    def in_place():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad(set_to_none=False)
            loss = F.mse_loss(net(X), Y)
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)

    calm(lambda: fitted(clears=True), lambda: fitted(clears=True, kind=SGD), accumulates, by_hand, in_place)


class Perturbed:
    """Sharpness-aware minimization, without a class of optimizers."""

    def __init__(self, parameters):
        self.parameters, self.steps = list(parameters), []

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for p in self.parameters]).norm()
        self.steps = [p.grad * (0.05 / norm) for p in self.parameters]
        for p, e in zip(self.parameters, self.steps, strict=True):
            p.add_(e)

    @torch.no_grad()
    def back(self):
        for p, e in zip(self.parameters, self.steps, strict=True):
            p.sub_(e)


def sharpness_aware(*, clears=False, rounds=3, amp=False):
    net = nn.Linear(4, 1)
    optimizer = SGD(net.parameters(), lr=0.1, momentum=0.9)
    sam = Perturbed(net.parameters())
    for _ in range(rounds):
        x, y = batch()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=amp):
            F.mse_loss(net(x), y).backward()
        sam.ascend()
        if clears:
            optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=amp):
            F.mse_loss(net(x), y).backward()  # Second.
        sam.back()
        optimizer.step()


@pytest.mark.parametrize("how", [{}, {"rounds": 1}, {"rounds": 40}, {"amp": True}])
def test_sharpness_aware_sum(how):
    """The gradients of the first pass are not cleared: once, again and again, under autocast."""
    finding = diagnosed(
        lambda: sharpness_aware(**how), "AG305", "# Second.", "weight", "zero_grad",
        severity="warning", where=sharpness_aware,
    )  # fmt: skip
    assert "optimizer.zero_grad()" in finding.fix
    assert line_of(Perturbed, "p.add_(e)") in [place.lineno for place in finding.locations]


def test_the_fix_of_sharpness_aware():
    """What it says is done: nothing is left to say."""
    calm(lambda: sharpness_aware(clears=True), lambda: sharpness_aware(clears=True, rounds=1))


def test_full_batch_perturbed():
    """Where each round reads the same data it is the same batch as well; restored by `.data`."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            old = [p.data.clone() for p in net.parameters()]
            for p in net.parameters():
                p.data = p.data + 0.05 * p.grad.data
            F.mse_loss(net(X), Y).backward()  # Second.
            for p, before in zip(net.parameters(), old, strict=True):
                p.data = before
            optimizer.step()

    diagnosed(program, "AG305", "# Second.", "weight", severity="warning")


def words(*, whole=False, fresh=False, rounds=3):
    """Adversarial training on both gradients: only the embeddings are perturbed, or the second loss has other data."""
    net = nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(12, 1))
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(rounds):
        x, y = torch.randint(0, 10, (8, 3)), torch.rand(8, 1)
        F.mse_loss(net(x), y).backward()
        backup = {}
        for name, p in net.named_parameters():
            if whole or name == "0.weight":
                backup[name] = p.data.clone()
                p.data.add_(0.1 * p.grad / p.grad.norm())
        if fresh:
            x, y = torch.randint(0, 10, (8, 3)), torch.rand(8, 1)
        F.mse_loss(net(x), y).backward()
        for name, p in net.named_parameters():
            if name in backup:
                p.data = backup[name]
        optimizer.step()
        optimizer.zero_grad()


def test_both_gradients_may_be_meant():
    """Of embeddings alone, or at other data (a look-ahead to another domain): seen, and no alarm."""
    for program in (words, lambda: words(whole=True, fresh=True)):
        calm(program)
        found = [finding for finding in inspected(program).findings if finding.rule == "AG305"]
        assert [finding.severity for finding in found] == ["info"], summary(inspected(program))


def test_accumulated_while_parameters_are_written():
    """Noise, projections, an average swapped in and out between micro-batches: no gradient moved the parameters."""

    def noisy():
        net = nn.Linear(4, 1)
        optimizer = SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            for _ in range(4):
                with torch.no_grad():
                    noise = [torch.randn_like(p) * 0.01 for p in net.parameters()]
                    for p, e in zip(net.parameters(), noise, strict=True):
                        p.add_(e)
                (F.mse_loss(net(X), Y) / 4).backward()
                with torch.no_grad():
                    for p, e in zip(net.parameters(), noise, strict=True):
                        p.sub_(e)
            optimizer.step()

    def projected():
        net = nn.Linear(4, 1)
        optimizer = SGD(net.parameters(), lr=0.1)
        for step in range(8):
            (F.mse_loss(net(X), Y) / 4).backward()
            with torch.no_grad():
                net.weight.clamp_(-1, 1)
            if step % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()

    def averaged():
        net = nn.Linear(4, 1)
        average = copy.deepcopy(net).requires_grad_(False)
        optimizer = SGD(net.parameters(), lr=0.1)
        for step in range(8):
            (F.mse_loss(net(X), Y) / 4).backward()
            state = copy.deepcopy(net.state_dict())
            net.load_state_dict(average.state_dict())
            with torch.no_grad():
                net(X)
            net.load_state_dict(state)
            if step % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()

    def quantised():
        net = nn.Linear(4, 1)
        optimizer = SGD(net.parameters(), lr=0.1)
        for step in range(8):
            kept = net.weight.data.clone()
            net.weight.data.sign_()
            (F.mse_loss(net(X), Y) / 4).backward()
            net.weight.data.copy_(kept)
            if step % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()

    calm(noisy, projected, averaged, quantised)


def test_moved_and_put_back_before_the_second_loss():
    """A sharpness that is measured between micro-batches leaves the parameters where they were."""

    def measured(*, back):
        net = nn.Linear(4, 1)
        optimizer = SGD(net.parameters(), lr=0.1)
        for step in range(8):
            (F.mse_loss(net(X), Y) / 4).backward()
            with torch.no_grad():
                moves = [0.05 * p.grad for p in net.parameters()]
                kept = [p.clone() for p in net.parameters()]
                for p, e in zip(net.parameters(), moves, strict=True):
                    p.add_(e)
                F.mse_loss(net(X), Y)
                for p, e, old in zip(net.parameters(), moves, kept, strict=True):
                    p.sub_(e) if back == "sub" else p.copy_(old)
            if step % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()

    calm(lambda: measured(back="sub"), lambda: measured(back="copy"))


def test_gradients_handled_by_hand():
    """Whoever keeps the first gradients and assigns, or copies, what the step is to use has decided it."""

    def mixed(*, assigned):
        net = nn.Linear(4, 1)
        optimizer = SGD(net.parameters(), lr=0.1)
        sam = Perturbed(net.parameters())
        for _ in range(3):
            x, y = batch()
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            first = [p.grad.clone() for p in net.parameters()]
            sam.ascend()
            F.mse_loss(net(x), y).backward()
            sam.back()
            for p, g in zip(net.parameters(), first, strict=True):
                if assigned:
                    p.grad = p.grad - g
                else:
                    p.grad.copy_(p.grad - g)
            optimizer.step()

    calm(lambda: mixed(assigned=True), lambda: mixed(assigned=False))


def test_losses_that_are_summed_at_one_value():
    """Tasks, a penalty with a backward of its own, micro-batches with clipping and an average that follows."""

    def summed():
        net = nn.Linear(4, 1)
        average = copy.deepcopy(net).requires_grad_(False)
        optimizer = torch.optim.AdamW(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            (0.01 * net.weight.pow(2).sum()).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            with torch.no_grad():
                for a, p in zip(average.parameters(), net.parameters(), strict=True):
                    a.lerp_(p, 0.1)
            optimizer.step()

    calm(summed)


def two_places(move):
    """The mean of the slopes at two places; the second lies down the first slope."""
    net = nn.Linear(4, 1)
    optimizer = SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(net(X), Y).backward()
        old = [p.detach().clone() for p in net.parameters()]
        with torch.no_grad():
            for p in net.parameters():
                move(p)
        F.mse_loss(net(X), Y).backward()  # Second.
        with torch.no_grad():
            for p, before in zip(net.parameters(), old, strict=True):
                p.copy_(before)
        optimizer.step()


def subtracted(p):
    p.sub_(0.1 * p.grad)


def added_negative(p):
    p.add_(p.grad, alpha=-0.1)


def assigned_normalised(p):
    p.data = p.data - 0.1 * p.grad / (1 + p.grad.norm())


def copied_negated(p):
    p.copy_(p + 0.1 * -p.grad)


@pytest.mark.parametrize("move", [subtracted, added_negative, assigned_normalised, copied_negated])
def test_slopes_at_two_places(move):
    """Heun's method adds the gradients on purpose: seen, and no alarm, however it goes down the first one."""
    found = [finding for finding in inspected(lambda: two_places(move)).findings if finding.rule == "AG305"]
    assert [finding.severity for finding in found] == ["info"]


def test_slopes_on_the_way_up():
    """The same program going up is sharpness-aware minimization."""
    diagnosed(
        lambda: two_places(lambda p: p.add_(0.1 * p.grad)), "AG305", "# Second.", "weight",
        severity="warning", where=two_places,
    )  # fmt: skip
