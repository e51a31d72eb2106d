"""AG201 and AG501 for graphs that an earlier cell recorded: edited or freed there, or edited and freed in this one."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected, line_of, silent

X = torch.randn(8, 4)
BEFORE = "before this capture"
FREED = f"freed {BEFORE}"


class Notebook:
    """What earlier cells left behind: a layer, its activation and a loss."""

    def __init__(self):
        self.net = nn.Linear(4, 4)
        self.hidden = torch.sigmoid(self.net(X))
        self.loss = self.hidden.pow(2).mean()


def test_activation_edited_in_an_earlier_cell():
    """Nothing in the capture modified it: the report says that it was so at entry, and by what name it is known."""
    state = Notebook()
    state.hidden.add_(1.0)

    def cell():
        book = state
        book.loss.backward()

    finding = diagnosed(
        cell, "AG201", "book.loss.backward()", BEFORE, "book.hidden", "version 1",
        "expected version 0", severity="error",
    )  # fmt: skip
    assert "book.loss" in finding.fix


def test_weights_stepped_in_an_earlier_cell():
    """The capture reads the weights itself, at their new version: the older graph still wants the old one."""
    net, x = nn.Linear(4, 4), X.clone().requires_grad_()
    old = torch.tanh(net(x)).sum()
    with torch.no_grad():
        net.weight.mul_(2.0)

    def cell():
        total = net(x).sum() + old
        total.backward()

    diagnosed(cell, "AG201", "total.backward()", "weight", BEFORE, "AddmmBackward0", severity="error")


def test_older_activation_edited_now():
    """The edit in the capture is the culprit, although the graph is older."""
    state = Notebook()

    def cell():
        book = state
        book.hidden.mul_(0.5)
        book.loss.backward()

    diagnosed(cell, "AG201", "book.hidden.mul_(0.5)", "book.hidden", "mul_", severity="error")


def test_loss_differentiated_in_an_earlier_cell():
    """Its graph was freed there; with retain_graph=True it was not."""
    state = Notebook()
    state.loss.backward()

    def cell():
        loss = state.loss
        loss.backward()

    diagnosed(cell, "AG501", "loss.backward()", "loss", FREED, "retain_graph=True", severity="error")
    kept = Notebook()
    kept.loss.backward(retain_graph=True)
    silent(kept.loss.backward)


def test_features_whose_graph_an_earlier_cell_freed():
    """The op that takes the old result in is where it has to be detached, whatever other backwards ran in between."""
    state, head = Notebook(), nn.Linear(4, 1)
    state.loss.backward()

    def cell():
        nn.Linear(4, 1)(X).sum().backward()
        features = state.hidden
        score = head(features).mean()
        score.backward()

    finding = diagnosed(cell, "AG501", "score = head(features)", "features", BEFORE, severity="error")
    assert "features.detach()" in finding.fix


def test_older_graph_freed_by_the_capture_itself():
    """Then that backward is named, and nothing is said of earlier cells."""
    state, head = Notebook(), nn.Linear(4, 1)

    def cell():
        features = state.hidden
        state.loss.backward()
        head(features).mean().backward()

    finding = diagnosed(cell, "AG501", "head(features).mean()", "features", severity="error")
    freed = [place.lineno for place in finding.locations if place.role == "graph freed here"]
    assert freed == [line_of(cell, "state.loss.backward()")]
    assert FREED not in finding.message


def test_stale_results_that_nobody_differentiates():
    """A loss of an earlier cell that is only read is no error, whatever became of its weights or its graph."""
    state = Notebook()
    state.hidden.add_(1.0)
    used = Notebook()
    used.loss.backward()

    def cell():
        return state.loss.item() + used.loss.item() + nn.Linear(4, 1)(X).sum().item()

    silent(cell)
    assert not inspected(cell).findings
