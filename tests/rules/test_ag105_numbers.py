"""AG105 for parameters that take part as plain numbers."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import alarms, diagnosed, inspected, silent, summary, trained
from .twins import calm

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def test_temperature_used_as_a_number():
    """`logits / self.temperature.item()` computes the same and never trains the temperature."""

    class Contrast(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.temperature = nn.Linear(4, 2), nn.Parameter(torch.tensor(0.7))

    class ByNumber(Contrast):
        def forward(self, x):
            return self.fc(x) / self.temperature.item()

    class ByTensor(Contrast):
        def forward(self, x):
            return self.fc(x) / self.temperature

    def program(kind):
        net = kind()
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(
        lambda: program(ByNumber), "AG105", "self.temperature.item()", "temperature", "item", severity="warning",
        where=ByNumber,
    )  # fmt: skip
    silent(lambda: program(ByTensor))


def test_scale_computed_in_python():
    """`math.exp(self.log_scale.item())`, `float(self.slope)`: a parameter used as a number only never learns."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.scale = nn.Linear(4, 2), nn.Parameter(torch.tensor(0.3))

    class ByMath(Scaled):
        def forward(self, x):
            return self.fc(x) * math.exp(self.scale.item())

    class BySlope(Scaled):
        def forward(self, x):
            return F.leaky_relu(self.fc(x), negative_slope=float(self.scale))

    class ByTensor(Scaled):
        def forward(self, x):
            return self.fc(x) * self.scale.exp()

    def program(kind):
        net = kind()
        trained(torch.optim.Adam(net.parameters()), F.cross_entropy(net(X), Y))
        return f"{net.scale.item():.2f}"

    for sick, line in ((ByMath, "self.scale.item()"), (BySlope, "float(self.scale)")):
        diagnosed(lambda sick=sick: program(sick), "AG105", line, "scale", severity="warning", where=sick)
    silent(lambda: program(ByTensor))


def test_part_of_the_loss_added_as_a_number():
    """`main + 0.5 * auxiliary.item()`: the second head never learns, on one line or by way of a variable."""

    def program(total):
        one, two = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
        for _ in range(2):
            trained(optimizer, total(F.cross_entropy(one(X), Y), F.cross_entropy(two(X), Y)))

    def on_one_line(main, auxiliary):
        return main + 0.5 * auxiliary.item()

    def by_a_variable(main, auxiliary):
        weighted = 0.5 * float(auxiliary)
        return main + weighted

    def logged_only(main, auxiliary):
        _ = auxiliary.item()
        return main * 1.0

    for total, line in ((on_one_line, "auxiliary.item()"), (by_a_variable, "float(auxiliary)")):
        diagnosed(
            lambda total=total: program(total), "AG105", line, "two.weight", "two.bias", "auxiliary",
            severity="warning", where=total,
        )  # fmt: skip
    found = diagnosed(lambda: program(logged_only), "AG301", "two(X)", "two.weight", severity="warning", where=program)
    assert "reaches the loss" in found.message
    silent(lambda: program(lambda main, auxiliary: main + 0.5 * auxiliary))


def test_backward_of_a_plain_number():
    """`'float' object has no attribute 'backward'`: told is where the loss became a number, not what raised."""

    def mean_of_items():
        net = nn.Linear(4, 2)
        losses = [F.cross_entropy(net(X), Y).item() for _ in range(3)]
        right = (net(X).argmax(dim=1) == Y).float().mean().item()
        loss = sum(losses) / len(losses)
        loss.backward()
        return right

    def mean_of_arrays():
        net = nn.Linear(4, 2)
        loss = F.cross_entropy(net(X), Y).detach().numpy().mean()
        accuracy = (net(X).argmax(dim=1) == Y).float().mean().numpy()
        loss.backward()
        return accuracy

    for program, line in ((mean_of_items, "losses = ["), (mean_of_arrays, ".detach().numpy()")):
        found = diagnosed(program, "AG105", line, "weight", "bias", "plain number", severity="error")
        assert found.locations[-1].source.strip() == "loss.backward()"


def test_a_number_kept_in_an_attribute():
    """`self.auxiliary = ....item()` in forward, `+ net.auxiliary` in the loop: the term is a constant."""

    class Gated(nn.Module):
        def __init__(self, *, keep):
            super().__init__()
            self.fc, self.gate, self.keep = nn.Linear(4, 2), nn.Linear(4, 2), keep

        def forward(self, x):
            weights = self.gate(x).softmax(dim=1)
            self.auxiliary = self.keep(weights.mean(dim=0).pow(2).sum())
            return self.fc(x) * weights

    class Counted(Gated):
        def forward(self, x):
            weights = self.gate(x).softmax(dim=1)
            self.auxiliary = weights.mean(dim=0).pow(2).sum().item()
            return self.fc(x) * weights

    def program(net):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y) + 0.01 * net.auxiliary)

    diagnosed(
        lambda: program(Counted(keep=None)), "AG105", "self.auxiliary = weights", "gate.weight", "constant",
        severity="warning", where=Counted,
    )  # fmt: skip
    silent(lambda: program(Gated(keep=lambda value: value)))


def test_constants_that_equal_a_printed_value():
    """A threshold from around the loop, or an infinite fill, has nothing to do with an equal number in the log."""

    def penalized(threshold):
        net, log_alpha = nn.Linear(4, 2), nn.Parameter(torch.zeros(()))
        optimizer = torch.optim.SGD([*net.parameters(), log_alpha], lr=0.1)
        log = []

        def one_round():
            optimizer.zero_grad()
            gap = F.cross_entropy(net(X), Y) - threshold
            loss = gap * log_alpha.exp()
            loss.backward()
            log.append((loss.item(), log_alpha.exp().detach().item(), log_alpha.exp().item()))
            optimizer.step()

        for _ in range(3):
            one_round()

    def filled():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scores = net(X)
        top = torch.full((3,), float("-inf")).scatter_reduce(0, Y, scores.detach()[:, 0], "amax")
        print(top.mean().item())
        lowest = torch.full((3,), float("-inf"))
        F.cross_entropy(scores - torch.maximum(top, lowest)[Y][:, None], Y).backward()
        optimizer.step()

    calm(lambda: penalized(1.0))
    report = inspected(filled)
    assert "AG105" not in [finding.rule for finding in report.findings]


def test_a_value_printed_in_a_checkpointed_block():
    """Where the loss has no graph for another reason, a number that was printed is not the reason."""

    class Block(nn.Linear):
        def forward(self, x):
            x = x + super().forward(x)
            print(x.mean().item())
            return x.mul(2)

    def program():
        blocks = nn.Sequential(Block(4, 4), Block(4, 4))
        head = nn.Linear(4, 2).requires_grad_(False)
        optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)
        x = X
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=True)
        F.cross_entropy(head(x), Y).backward()
        optimizer.step()

    report = inspected(program)
    assert [finding.rule for finding in alarms(report)] == ["AG106"], summary(report)


def tempered(start, *, number):
    """A score and its temperature, each learning from a term of its own."""

    def program():
        net, log_alpha = nn.Linear(4, 2), torch.full((1,), start, requires_grad=True)
        optimizer = torch.optim.SGD([*net.parameters(), log_alpha], lr=0.1)
        for _ in range(2):
            score = net(torch.randn(8, 4)).logsumexp(1)
            alpha = log_alpha.exp()
            if number:
                alpha = alpha.item()  # Left.
            optimizer.zero_grad()
            ((alpha * score).mean() + (-alpha * (score.detach() - 2).mean())).sum().backward()
            optimizer.step()

    return program


@pytest.mark.parametrize("start", [0.0, -1.6])
def test_number_that_comes_back_with_its_sign_turned(start):
    """A temperature of 1 is as good as any other: the line that took it out is told, and no detach() beside it."""
    diagnosed(tempered(start, number=True), "AG105", "# Left.", "log_alpha", severity="warning", where=tempered)
    silent(tempered(start, number=False))
