"""AG701 to AG704: what the statistics over the steps show, and that healthy trainings are silent."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

import autograd_inspector

from .programs import alarms, diagnosed, inspected, summary


def fit(net, steps, lr=0.01, kind=torch.optim.SGD, width=8, loss=None, batch=32):
    optimizer = kind(net.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        x = torch.randn(batch, width)
        out = net(x)
        (loss(out, x) if loss else functional.mse_loss(out, x[:, : out.shape[-1]].tanh())).backward()
        optimizer.step()


def stack(depth, function, width=8, out=1):
    parts = [part for _ in range(depth) for part in (nn.Linear(width, width), function())]
    return nn.Sequential(*parts, nn.Linear(width, out))


def test_sigmoids_let_the_gradient_vanish():
    """The line that runs them, the function and how often, both ends with their norms."""

    def program():
        torch.manual_seed(0)
        net = stack(7, nn.Sigmoid)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(64, 8)).pow(2).mean().backward()
            optimizer.step()

    finding = diagnosed(
        program, "AG701", "net(torch.randn(64, 8))", "`sigmoid` runs 7 times", "0.weight", "14.weight",
        severity="warning", values=True,
    )  # fmt: skip
    assert "per layer" in finding.message
    assert "gelu" in finding.fix


def test_weights_that_are_too_large_let_it_explode():
    """Each layer multiplies the gradient: its weights are eight times those that keep it as it is."""
    torch.manual_seed(0)
    net = stack(20, nn.Tanh, width=64)
    for part in net:
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=1.0)

    def program():
        net(torch.randn(64, 64)).pow(2).mean().backward()

    report = inspected(program, values=True)
    [finding] = alarms(report)
    assert finding.rule == "AG701", summary(report)
    assert "grows" in finding.message
    assert "xavier" in finding.fix


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x))))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 16, num_layers=2, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(self.rnn(x.unsqueeze(1).expand(-1, 6, -1))[0][:, -1])


HEALTHY = {
    "relu": lambda: stack(8, nn.ReLU, width=32),
    "tanh": lambda: stack(6, nn.Tanh, width=32),
    "gelu": lambda: stack(8, nn.GELU),
    "residual": lambda: nn.Sequential(nn.Linear(8, 16), *[Residual(16) for _ in range(12)], nn.Linear(16, 1)),
    "transformer": lambda: nn.Sequential(
        nn.Linear(8, 16),
        nn.Unflatten(1, (1, 16)),
        nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 4),
        nn.Flatten(),
        nn.Linear(16, 1),
    ),
    "lstm": Recurrent,
    "convolutions": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 2, 4)),
        *[part for i in range(6) for part in (nn.Conv2d(8 if i else 1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())],
        nn.Flatten(),
        nn.Linear(64, 1),
    ),
    "classifier": lambda: nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid()),
    "autoencoder": lambda: nn.Sequential(nn.Linear(8, 3), nn.Tanh(), nn.Linear(3, 8), nn.Sigmoid()),
}


@pytest.mark.parametrize("steps", [1, 60])
@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_trainings_are_silent(name, steps):
    """At initialization, and after 60 steps of AdamW."""
    torch.manual_seed(0)
    net = HEALTHY[name]()
    report = inspected(lambda: fit(net, steps, lr=3e-3, kind=torch.optim.AdamW), values=True)
    assert not [f for f in report.findings if f.rule.startswith("AG7")], summary(report)


def test_a_low_rank_adapter_may_begin_at_zero():
    """B is all new after the first steps, and that is how it is meant."""

    class Adapter(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.Linear(8, 2, bias=False), nn.Linear(2, 1, bias=False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x):
            return self.up(self.down(x))

    report = inspected(lambda: fit(Adapter(), 40, lr=1e-2, kind=torch.optim.AdamW), values=True)
    assert not alarms(report), summary(report)


def test_a_learning_rate_that_is_too_large():
    """The gradient norm grows from step to step; the step's line and its learning rate are named."""

    def program():
        torch.manual_seed(0)
        net = nn.Linear(8, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=3.0)
        x = torch.randn(64, 8)
        for _ in range(14):
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            optimizer.step()

    diagnosed(program, "AG702", "optimizer.step()", "gradient norm", "weight", "lr 3", severity="warning", values=True)


def test_steps_that_replace_the_weights():
    """Adam moves each weight by lr, whatever the gradient: at lr 1 that is all there was."""

    def program():
        torch.manual_seed(0)
        net = stack(2, nn.ReLU)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        for _ in range(30):
            optimizer.zero_grad()
            net(torch.randn(8, 8)).mean().backward()
            with torch.no_grad():
                for p in net.parameters():
                    p.grad.copy_(torch.randn_like(p))
            optimizer.param_groups[0]["lr"] = 0.6 * float(net[0].weight.norm()) / 8
            optimizer.step()

    report = inspected(program, values=True)
    assert "AG702" in {finding.rule for finding in alarms(report)}, summary(report)


def test_units_that_are_never_active():
    """How many of how many, and the line that applies the function."""

    def program():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        with torch.no_grad():
            net[0].bias[:12] = -50.0
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(25):
            optimizer.zero_grad()
            net(torch.randn(32, 8)).pow(2).mean().backward()
            optimizer.step()

    diagnosed(program, "AG703", "net(torch.randn(32, 8))", "12 of 16 units", "ReLU", severity="warning", values=True)


def test_units_off_by_chance_are_not_reported():
    """Of an input that is the same for every sample about half of the units are off: nothing is wrong with these."""

    def program():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
        x = torch.randn(1, 8).expand(32, 8)
        for _ in range(25):
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            optimizer.step()

    with autograd_inspector.inspect(values=True) as inspection:
        program()
    [relu] = [row for row in inspection.report.vitals.modules if row.type == "ReLU"]
    assert 0.3 < relu.never / relu.units < 0.7
    assert "AG703" not in {finding.rule for finding in inspection.report.findings}


def test_hidden_tanhs_at_their_ends():
    """A hidden function whose inputs are far too large; the last sigmoid of a model may be at its ends."""

    def program():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1), nn.Sigmoid())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0001)
        for _ in range(12):
            optimizer.zero_grad()
            net(torch.randn(32, 8) * 3_000).mean().backward()
            optimizer.step()

    diagnosed(program, "AG703", "net(torch.randn(32, 8)", "saturated", "1 (Tanh)", severity="warning", values=True)


def test_a_scale_that_keeps_falling():
    """The infinity is made by the loss at any scale; one that finds its place is silent."""

    def program(bad):
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", growth_interval=5)
        for step in range(12):
            optimizer.zero_grad()
            factor = float("inf") if bad or step < 2 else 1.0
            scaler.scale(net(torch.randn(8, 4)).pow(2).mean() * factor).backward()
            scaler.step(optimizer)
            scaler.update()

    found = {finding.rule for finding in alarms(inspected(lambda: program(bad=True), values=True))}
    assert "AG704" in found
    assert "AG704" not in {f.rule for f in alarms(inspected(lambda: program(bad=False), values=True))}


def test_nothing_is_said_without_values():
    """No statistics, no findings about them."""
    with autograd_inspector.inspect() as inspection:
        fit(stack(7, nn.Sigmoid), 3)
    assert not [f for f in inspection.report.findings if f.rule.startswith("AG7")]
