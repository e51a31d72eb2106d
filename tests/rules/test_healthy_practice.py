"""Practice that is unusual and right: of each of these programs a rule once said that it was wrong."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import alarms, inspected, summary, trained
from .twins import calm

X, Y = torch.randn(8, 4, generator=torch.Generator().manual_seed(1)), torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def test_gradients_made_by_hand_for_what_is_frozen():
    """AG406: evolution strategies, and float32 masters of a model in bfloat16, step what requires no grad."""

    def evolution():
        net = network().requires_grad_(False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            for p in net.parameters():
                p.grad = torch.randn_like(p) * F.cross_entropy(net(X), Y)
            optimizer.step()

    def copied_into():
        point = torch.zeros(3)
        point.grad = torch.zeros(3)
        optimizer = torch.optim.Adam([point], lr=0.1)
        for _ in range(3):
            point.grad.copy_(2 * (point - 1))
            optimizer.step()

    def masters():
        net = network().to(torch.bfloat16)
        master = [p.detach().clone().float() for p in net.parameters()]
        optimizer = torch.optim.SGD(master, lr=0.1)
        for _ in range(3):
            F.cross_entropy(net(X.bfloat16()).float(), Y).backward()
            for own, p in zip(master, net.parameters(), strict=True):
                own.grad = p.grad.float()
            optimizer.step()
            for own, p in zip(master, net.parameters(), strict=True):
                p.data.copy_(own)
            net.zero_grad()

    calm(evolution, copied_into, masters)


def test_thawed_for_each_backward():
    """AG406: a phase thaws its network, goes backward, freezes it again, and steps."""

    def phases():
        left, right = nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 1).requires_grad_(False)
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (left, right)]
        for _ in range(2):
            for net, optimizer, sign in ((left, optimizers[0], -1), (right, optimizers[1], 1)):
                optimizer.zero_grad()
                net.requires_grad_(True)
                (sign * right(left(X))).mean().backward()
                net.requires_grad_(False)
                optimizer.step()

    calm(phases)


def test_gradient_that_comes_through_a_model_in_eval_mode():
    """AG404: a loss network that nobody froze is no oversight: an info at most."""

    def perceptual(mode):
        painter, judge = nn.Linear(4, 4), network()
        getattr(judge, mode)()
        optimizer = torch.optim.SGD(painter.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.mse_loss(judge(painter(X)), judge(X).detach()))

    calm(lambda: perceptual("eval"))
    report = inspected(lambda: perceptual("train"))
    assert [finding.rule for finding in alarms(report)] == ["AG404"], summary(report)


def test_a_dummy_input_that_switches_autograd_on():
    """AG108: a reentrant checkpoint is given a tensor of one element that requires grad, and returns None for it."""

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        dummy = torch.ones(1, requires_grad=True)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(checkpoint(lambda x, _: net(x), X, dummy, use_reentrant=True), Y))

    calm(program)


def test_the_gradient_of_a_copy_is_what_is_wanted():
    """AG109: variance reduction subtracts the gradient of a snapshot."""

    def program():
        net = network()
        snapshot = copy.deepcopy(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            snapshot.zero_grad()
            F.cross_entropy(net(X), Y).backward()
            F.cross_entropy(snapshot(X), Y).backward()
            with torch.no_grad():
                for p, q in zip(net.parameters(), snapshot.parameters(), strict=True):
                    p.grad.sub_(q.grad)
            optimizer.step()

    calm(program)


def test_weights_restored_from_a_copied_state():
    """AG109: copy.deepcopy(state_dict()) makes a copy of each tensor, and of no other one."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        best = copy.deepcopy(net.state_dict())
        for _ in range(3):
            trained(optimizer, F.cross_entropy(net(X), Y))
            net.load_state_dict(best)

    calm(program)


def test_an_offset_that_no_derivative_depends_on():
    """AG301: of an energy that is trained by its slope the last bias gets no gradient, which is an info."""

    def program():
        energy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(energy.parameters(), lr=0.1)
        for _ in range(2):
            x = X.clone().requires_grad_()
            (slope,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
            trained(optimizer, (slope + X).pow(2).mean())

    calm(program)
    (finding,) = inspected(program).findings
    assert (finding.rule, finding.severity, finding.subjects) == ("AG301", "info", ("energy.2.bias",))


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_factors_that_begin_at_zero(steps):
    """AG303: what a zero multiplies waits for that factor to move, however short the capture is."""

    def adapter():
        base = nn.Linear(4, 4).requires_grad_(False)
        down, up = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(4, 2))
        optimizer = torch.optim.SGD([down, up], lr=0.1)
        for _ in range(steps):
            trained(optimizer, (base(X) + X @ down.t() @ up.t() - 1).pow(2).mean())

    def gated():
        body, gate, last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        for layer in (gate, last):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        optimizer = torch.optim.SGD([p for net in (body, gate, last) for p in net.parameters()], lr=0.5)
        for _ in range(steps):
            trained(optimizer, F.cross_entropy(last(X + gate(X.cos()) * body(X)), Y))

    calm(adapter, gated)


def test_a_step_that_a_scaler_skips():
    """AG304: GradScaler begins with too large a scale on purpose, and skips what overflows."""

    def program():
        net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))
        optimizer, scaler = torch.optim.SGD(net.parameters(), lr=1e-3), torch.amp.GradScaler("cpu")
        for _ in range(8):
            with torch.autocast("cpu", dtype=torch.float16):
                out = net(X)
            loss = F.mse_loss(out.float(), torch.full((8, 1), 30.0))
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    calm(program)


TRAINER = """
import torch

def train(net, optimizer, x):
    for _ in range(3):
        loss = objective(net, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log(loss)

def objective(net, x):
    loss = 0.0
    loss += net(x).pow(2).mean()
    return loss

def log(loss):
    total = loss.detach()
    return 0.0 if torch.isnan(total) else total.item()
"""


def test_a_library_that_logs_below_one_line(tmp_path, monkeypatch):
    """AG105: all that a trainer does stands on the one line that calls it; what it logs is no term of its loss."""
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "a_trainer.py").write_text(TRAINER, "utf-8")
    monkeypatch.syspath_prepend(package)

    def program():
        import a_trainer

        net = network()
        a_trainer.train(net, torch.optim.SGD(net.parameters(), lr=0.1), X)

    calm(program)
