"""AG201 where the edit has to take effect: the advice is a copy for whoever saves the value, and it works."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, quoted
from .twins import calm

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


class Forecaster(nn.Module):
    """Writes each prediction into the tensor that it reads the next one's input from."""

    def __init__(self, take):
        super().__init__()
        self.step, self.take = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), take

    def forward(self, x):
        path = torch.zeros(4, 4, 3)
        path[:, 0] = x
        for t in range(3):
            path[:, t + 1] = self.step(path[:, t]) if self.take is None else self.step(self.take(path[:, t]))
        return path


def test_buffer_that_is_filled_from_itself():
    """A copy made before the assignment would be modified all the same: the right side reads a copy, or a list."""
    finding = diagnosed(
        lambda: Forecaster(lambda t: t)(X).sum().backward(), "AG201", "path[:, t + 1] =", "path", severity="error",
        where=Forecaster.forward,
    )  # fmt: skip
    assert quoted(finding.fix) == ["path[:, t].clone()", "linear"]
    assert "torch.stack" in finding.fix
    calm(lambda: Forecaster(torch.clone)(X).sum().backward())


class Contrastive(nn.Module):
    """Compares with a queue, and puts the new keys into it before anybody calls backward."""

    def __init__(self, *, copied):
        super().__init__()
        self.encoder, self.copied = nn.Linear(3, 2), copied
        self.register_buffer("queue", torch.randn(2, 6))

    def forward(self, x):
        keys = self.encoder(x)
        queue = self.queue.clone() if self.copied else None
        logits = keys @ self.queue if queue is None else keys @ queue
        self.queue[:, :4] = keys.detach().T
        return logits


def test_queue_that_has_to_be_updated():
    """A copy of the queue is what the product reads, in the words of the line that reads it."""

    class Reading(Contrastive):
        def forward(self, x):
            keys = self.encoder(x)
            logits = keys @ self.queue
            self.queue[:, :4] = keys.detach().T
            return logits

    finding = diagnosed(
        lambda: Reading(copied=False)(X).sum().backward(), "AG201", "self.queue[:, :4] =", "queue", severity="error",
        where=Reading,
    )  # fmt: skip
    assert quoted(finding.fix)[:2] == ["self.queue.clone()", "matmul"]
    calm(lambda: Contrastive(copied=True)(X).sum().backward())


def test_vectors_of_a_power_iteration():
    """Two forwards of one loss: `1.v` is no Python, `self.v` is."""

    class Normed(nn.Linear):
        def __init__(self, copied):
            super().__init__(3, 3)
            self.copied = copied
            self.register_buffer("v", F.normalize(torch.ones(3), dim=0))

        def forward(self, x):
            with torch.no_grad():
                self.v.copy_(F.normalize(self.weight.T @ (self.weight @ self.v), dim=0))
            if self.copied:
                return x @ self.weight.T / (self.weight @ self.v.clone()).norm()
            return x @ self.weight.T / torch.mv(self.weight, self.v).norm()

    def program(*, copied):
        net = nn.Sequential(nn.Linear(3, 3), Normed(copied))
        (net(X).mean() - net(2 * X).mean()).backward()

    finding = diagnosed(lambda: program(copied=False), "AG201", "self.v.copy_", "1.v", severity="error", where=Normed)
    assert "`self.v.clone()`" in finding.fix
    assert "`1.v" not in finding.fix
    calm(lambda: program(copied=True))


def test_embedding_with_max_norm():
    """The lookup itself renormalises the table: nobody has modified a parameter by hand."""

    class Tied(nn.Module):
        def __init__(self, *, copied):
            super().__init__()
            self.table, self.mix, self.copied = nn.Embedding(8, 3, max_norm=1.0), nn.Linear(3, 3), copied

        def output(self):
            if self.copied:
                return self.mix(self.table.weight.clone())
            return self.mix(self.table.weight)

        def forward(self, tokens):
            out = self.output()
            return (self.table(tokens) @ out.T).logsumexp(-1).mean()

    finding = diagnosed(
        lambda: Tied(copied=False)(torch.arange(4)).backward(), "AG201", "self.table(tokens)", "max_norm",
        severity="error", where=Tied,
    )  # fmt: skip
    assert "`self.table.weight.clone()`" in finding.fix
    calm(lambda: Tied(copied=True)(torch.arange(4)).backward())


def test_part_of_a_tensor_written_by_an_augmented_assignment():
    """`h[:, 0] += 1` writes into the tensor however it is spelled: it needs a copy; the item of a list does not."""
    w = torch.randn(3, 3, requires_grad=True)

    def part(*, copied):
        h = torch.sigmoid(w)
        y = h * h
        if copied:
            h = h.clone()
        h[:, 0] += 1
        (y.sum() + h.sum()).backward()

    def element(*, copied):
        h = torch.sigmoid(w)
        y = h * h
        if copied:
            h = h.clone()
        h[0][1] *= 2
        (y.sum() + h.sum()).backward()

    def item(*, copied):
        hs = [torch.sigmoid(w)]
        y = hs[0] * hs[0]
        if copied:
            hs[0] = hs[0] + 1
        else:
            hs[0] += 1
        (y.sum() + hs[0].sum()).backward()

    for program, culprit, advice in (
        (part, "h[:, 0] += 1", "`h = h.clone()` before the assignment"),
        (element, "h[0][1] *= 2", "`h = h.clone()` before the assignment"),
        (item, "hs[0] += 1", "Write `hs[0] = hs[0] + 1`"),
    ):
        found = diagnosed(
            lambda program=program: program(copied=False), "AG201", culprit, severity="error", where=program
        )
        assert advice in found.fix, found.fix
        calm(lambda program=program: program(copied=True))


def test_code_and_words_are_told_apart():
    """Only the op's name is set as code where a module is said to have run it."""

    def program():
        net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True))
        net(torch.randn(2, 3)).sum().backward()

    finding = diagnosed(program, "AG201", "net(torch.randn(2, 3))", severity="error")
    assert "by `relu` of" in finding.message
    assert "nn.ReLU, inplace=True" in finding.message
    assert "relu of net.2 (nn.ReLU, inplace=True)" in finding.subjects
