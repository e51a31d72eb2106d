"""AG411: dropouts that the mode of their module does not reach, and samples that are none."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


class Net(nn.Module):
    """A layer, whatever drops values, and another layer."""

    def __init__(self, drop):
        super().__init__()
        self.drop, self.first, self.last = drop, nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.drop(self, self.first(x)))


def train_and_look(net, look):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net.train()
        trained(optimizer, F.cross_entropy(net(X), Y))
        net.eval()
        with torch.no_grad():
            look(net)


def accuracy(net):
    return (net(X).argmax(1) == Y).float().mean()


def by_default(_, x):
    return F.dropout(x, 0.5)


def by_default_named(_, x):
    return torch.nn.functional.dropout1d(input=x, p=0.2, inplace=False)


def in_attention(_, x):
    x = x[None]
    return F.scaled_dot_product_attention(x, x, x, dropout_p=0.1)[0]


@pytest.mark.parametrize(
    ("drop", "fix"),
    [
        (by_default, "training=self.training"),
        (by_default_named, "training=self.training"),
        (in_attention, "if self.training else 0.0"),
    ],
)
def test_dropout_that_knows_no_mode(drop, fix):
    """A dropout that is not told the mode drops values in evaluation: its line, and what to pass."""
    line = "F.scaled_dot" if drop is in_attention else "dropout"
    finding = diagnosed(
        lambda: train_and_look(Net(drop), accuracy), "AG411", line, "eval mode", severity="warning", where=drop
    )
    assert fix in finding.fix


def told(net, x):
    return F.dropout(x, 0.5, net.training)


def told_by_name(net, x):
    return F.dropout(x, p=0.5, training=net.training)


def on_purpose(_, x):
    return F.dropout(x, training=True)


def unpacked(net, x):
    return F.dropout(x, p=0.5, training=net.training)


def attention(net, x):
    x = x[None]
    return F.scaled_dot_product_attention(x, x, x, dropout_p=0.1 if net.training else 0.0)[0]


@pytest.mark.parametrize("drop", [told, told_by_name, on_purpose, unpacked, attention])
def test_dropout_that_is_told(drop):
    """By place, by name, unpacked; and one that says that it drops in any case."""
    calm(lambda: train_and_look(Net(drop), accuracy))


def test_dropout_by_default_in_training_only():
    """Where the module is never put into eval mode, the default is right."""

    def program():
        net = Net(by_default)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))

    calm(program)


def layers():
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))


def stacked(net):
    return torch.stack([net(X).softmax(1) for _ in range(5)]).var(0)  # Samples.


def summed(net):
    total = torch.zeros(8, 2)
    for _ in range(5):
        total = total + net(X).exp()  # Samples.
    return total / 5


def inferred(net):
    with torch.inference_mode():
        shifted = X + 1  # Without a version.
        return torch.stack([net(shifted).softmax(1) for _ in range(5)]).var(0)  # Samples.


@pytest.mark.parametrize("look", [stacked, summed, inferred])
def test_samples_of_a_dropout_in_eval_mode(look):
    """The same input, put together several times: all are equal, and the dropout that draws none of them is named."""

    def program():
        train_and_look(layers(), look)

    diagnosed(program, "AG411", "# Samples.", "net.1", "all equal", severity="warning", where=look)


def dropouts_in_train_mode(net):
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.train()
    return stacked(net)


def other_inputs(net):
    return torch.stack([net(X + shift).softmax(1) for shift in range(5)]).mean(0)


def noisy_weights(net):
    results = []
    for _ in range(5):
        net[0].weight.add_(0.01 * torch.randn_like(net[0].weight))
        results.append(net(X))
    return torch.stack(results)


def several_figures(net):
    return accuracy(net), net(X).softmax(1).max(), F.cross_entropy(net(X), Y), net(X).var()


def batches(net):
    return torch.cat([net(part) for part in X.split(2)])


def noisy_inputs_in_inference(net):
    results = []
    with torch.inference_mode():
        noisy = X + 1
        for _ in range(5):
            noisy.add_(torch.randn_like(noisy))
            results.append(net(noisy))
        return torch.stack(results)


CALM = [dropouts_in_train_mode, other_inputs, noisy_weights, noisy_inputs_in_inference, several_figures, batches]


@pytest.mark.parametrize("look", CALM)
def test_results_that_may_differ(look):
    """Other inputs, other weights, dropouts that draw, figures that are not put together."""
    calm(lambda: train_and_look(layers(), look))


class Noisy(nn.Module):
    """With a layer that keeps statistics, or another norm."""

    def __init__(self, norm=nn.BatchNorm1d):
        super().__init__()
        self.first, self.norm, self.drop, self.last = nn.Linear(4, 4), norm(4), nn.Dropout(0.5), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.drop(self.norm(self.first(x))))


def sampled(net, *, switch, batches=(X,) * 5):
    """Predictions with dropout, between two epochs."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net.train()
        trained(optimizer, F.cross_entropy(net(X), Y))
        with torch.no_grad():
            switch(net)
            torch.stack([net(x) for x in batches]).softmax(-1).mean(0)  # samples


def whole(net):
    net.train()


def dropouts_alone(net):
    net.eval()
    net.drop.train()


def test_samples_that_move_statistics():
    """In train mode the norm counts them. Fine: another norm, only the dropouts in train mode, other batches."""
    finding = diagnosed(
        lambda: sampled(Noisy(), switch=whole), "AG411", "net.train()", "# samples", "norm", severity="warning",
        where=sampled,
    )  # fmt: skip
    assert finding.edits
    other_batches = [X + shift for shift in range(5)]
    calm(
        lambda: sampled(Noisy(nn.LayerNorm), switch=whole),
        lambda: sampled(Noisy(), switch=dropouts_alone),
        lambda: sampled(Noisy(), switch=whole, batches=other_batches),
    )


def surrogate(net, old_net, *, prepare, as_ratio=True):
    """One round of PPO, more or less."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        prepare(net)
        with torch.no_grad():
            old = old_net(X).log_softmax(-1)[:, 0]
        for _ in range(2):
            new = net(X).log_softmax(-1)[:, 0]
            loss = (new - old).exp().mean() if as_ratio else (new - old).pow(2).mean()  # ratio
            trained(optimizer, loss)


def test_ratio_of_two_masks():
    """Both calls drop values. Fine: eval mode in both, no dropout, another model's values, a consistency loss."""

    def program(norm=nn.Dropout, **how):
        net = nn.Sequential(nn.Linear(4, 8), norm(0.5) if norm is nn.Dropout else norm(), nn.Linear(8, 2))
        surrogate(net, net, **({"prepare": whole} | how))

    def of_another():
        net, other = (nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)) for _ in range(2))
        surrogate(net, other.eval().requires_grad_(False), prepare=whole)

    finding = diagnosed(program, "AG411", "net.train()", "# ratio", severity="warning", where=whole)
    assert "eval()" in finding.fix
    assert finding.edits
    calm(
        lambda: program(nn.Tanh),
        lambda: program(prepare=lambda net: net.eval()),
        lambda: program(as_ratio=False),
        of_another,
    )
