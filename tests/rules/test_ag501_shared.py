"""AG501: backwards that share a part of their graph, values kept for all rounds, and tensors without a name."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, finding_text, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
        self.tail, self.main, self.aux = nn.Sequential(nn.Linear(6, 6), nn.Tanh()), nn.Linear(6, 2), nn.Linear(6, 2)

    def forward(self, x):
        h = self.stem(x)
        return self.main(self.tail(h)), self.aux(h)


def test_heads_that_go_backward_one_after_another():
    """The shared part is what the first backward freed, and it has to learn from both: sum, or keep the graph."""

    def program(*, retain):
        net = TwoHeads()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        main, aux = net(X)
        optimizer.zero_grad()
        for out in (aux, main):
            (0.5 * F.cross_entropy(out, Y)).backward(retain_graph=retain)
        optimizer.step()

    finding = diagnosed(
        lambda: program(retain=False), "AG501", "(0.5 * F.cross_entropy", "h = self.stem(x)", "stem", severity="error",
        where=program,
    )  # fmt: skip
    assert "Sum the losses" in finding.fix
    assert "retain_graph=True" in finding.fix
    assert "float32[" not in finding_text(finding)
    assert any("graph freed here" in place.role for place in finding.locations)
    calm(lambda: program(retain=True))


def test_second_head_computed_after_the_first_backward():
    """Two losses of one round, each on lines of its own: cutting the trunk off is not the first advice."""

    def program(*, retain):
        net = TwoHeads()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        h = net.stem(X)
        F.cross_entropy(net.aux(h), Y).backward(retain_graph=retain)
        F.cross_entropy(net.main(net.tail(h)), Y).backward()
        optimizer.step()

    finding = diagnosed(lambda: program(retain=False), "AG501", "h = net.stem(X)", "h", severity="error", where=program)
    assert finding.fix.startswith("Sum the losses")
    calm(lambda: program(retain=True))


def test_loss_variables_are_summed_by_name():
    """Where both losses have a name, the advice is the line to write."""

    def sick():
        out = nn.Linear(4, 2)(X).tanh().exp()
        left, right = out.pow(2).mean(), out.abs().mean()
        left.backward()
        right.backward()

    def healthy():
        out = nn.Linear(4, 2)(X).tanh().exp()
        left, right = out.pow(2).mean(), out.abs().mean()
        (left + right).backward()

    assert "`(left + right).backward()`" in diagnosed(sick, "AG501", "right.backward()", severity="error").fix
    calm(healthy)


def test_item_of_a_dictionary():
    """A tensor that no variable holds is called what the line that reads it writes."""

    def program(keep):
        policy = nn.Sequential(nn.Linear(4, 2), nn.Tanh())
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
        batch = {"old": keep(policy(X).exp().log_softmax(-1))}
        for _ in range(2):
            ratio = (policy(X).log_softmax(-1) - batch["old"]).exp()
            trained(optimizer, ratio.mean())

    finding = diagnosed(
        lambda: program(lambda t: t), "AG501", "batch = {", 'batch["old"].detach()', severity="error", where=program
    )
    assert "float32[" not in finding_text(finding)
    calm(lambda: program(torch.Tensor.detach))


class Biased(nn.Module):
    """A learned table, of which each length's part is computed, and kept or not."""

    def __init__(self, *, keep):
        super().__init__()
        self.table, self.keep, self.cached = nn.Parameter(torch.ones(4)), keep, {}

    def bias(self, n):
        if not self.keep or n not in self.cached:
            self.cached[n] = torch.tanh(self.table[torch.arange(n)])
        return self.cached[n]

    def forward(self, x):
        return x + self.bias(x.shape[1])


def test_part_of_a_learned_table_that_is_kept():
    """A value of parameters alone is computed again: cutting it off would stop the table from learning."""

    def program(*, keep):
        net = nn.Sequential(nn.Linear(4, 4), Biased(keep=keep))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())

    finding = diagnosed(
        lambda: program(keep=True), "AG501", "self.cached[n] = torch.tanh", "1.table", severity="error",
        where=Biased.bias,
    )  # fmt: skip
    assert "in each iteration" in finding.fix
    calm(lambda: program(keep=False))


def test_gradient_asked_for_before_the_other_loss():
    """What asks for a gradient cannot be summed with a loss: it has to keep the graph."""

    def program(*, retain):
        out = (weight := nn.Linear(4, 2)).weight.tanh().exp()
        penalty, loss = out.pow(2).mean(), out.abs().mean()
        (gradient,) = torch.autograd.grad(penalty, weight.weight, retain_graph=retain)
        loss.backward()
        return gradient

    finding = diagnosed(
        lambda: program(retain=False), "AG501", "loss.backward()", "penalty", severity="error", where=program
    )
    assert "retain_graph=True" in finding.fix
    assert "first call" in finding.fix
    calm(lambda: program(retain=True))
