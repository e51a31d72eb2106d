"""AG502 and AG503: graphs that are kept, or sent where they cannot go."""

from __future__ import annotations

import copy
import io
import pickle

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def pair(net=None):
    net = net or nn.Linear(4, 1)
    return net, torch.optim.SGD(net.parameters(), lr=0.01)


def test_running_sums():
    """A running sum of losses keeps every graph; item() and detach() keep numbers."""

    def program(number):
        net, optimizer = pair()
        total = 0.0
        for _ in range(4):
            loss = F.mse_loss(net(X), Y)
            trained(optimizer, loss)
            total = total + number(loss)
        return total

    diagnosed(
        lambda: program(lambda t: t),
        "AG502",
        "total = total + number(loss)",
        "total",
        "item",
        severity="warning",
        where=program,
    )
    calm(lambda: program(torch.Tensor.item), lambda: program(torch.Tensor.detach))


def test_list_of_losses():
    """A history of losses, or of predictions, keeps each step's graph."""

    def program(number):
        net, optimizer = pair()
        history = []
        for _ in range(4):
            loss = F.mse_loss(net(X), Y)
            trained(optimizer, loss)
            loss = number(loss)
            history.append(loss)
        return sum(history) / 4

    def on_an_attribute():
        net, optimizer = pair()
        net.outputs = []
        for _ in range(4):
            out = net(X)
            trained(optimizer, F.mse_loss(out, Y))
            net.outputs.append(out)

    def validation():
        net, optimizer = pair()
        trained(optimizer, F.mse_loss(net(X), Y))
        net.eval()
        predictions = [net(X) for _ in range(4)]
        return torch.cat(predictions).mean().item()

    diagnosed(lambda: program(lambda t: t), "AG502", "history.append(", "loss", severity="warning", where=program)
    diagnosed(on_an_attribute, "AG502", "net.outputs.append(out)", "out", severity="warning")
    calm(lambda: program(torch.Tensor.item), lambda: program(torch.Tensor.detach), validation)


def test_moving_average():
    """An exponential moving average of the loss chains the graphs of all steps."""

    def program(number):
        net, optimizer = pair()
        average = torch.zeros(())
        for _ in range(4):
            loss = F.mse_loss(net(X), Y)
            trained(optimizer, loss)
            average = 0.9 * average + 0.1 * number(loss)

    diagnosed(
        lambda: program(lambda t: t), "AG502", "average = 0.9 * average", "average", severity="warning", where=program
    )
    calm(lambda: program(torch.Tensor.detach))


def test_sums_that_are_trained_on():
    """A loss summed over micro batches or time steps, and then differentiated, is computation."""

    def micro_batches():
        net, optimizer = pair()
        for _ in range(3):
            total = 0.0
            for part in X.chunk(4):
                total = total + net(part).pow(2).mean()
            trained(optimizer, total)

    def policy_gradient():
        net, optimizer = pair(nn.Linear(4, 2))
        for _ in range(3):
            log_probs = [F.log_softmax(net(x), dim=0)[0] for x in X]
            trained(optimizer, -torch.stack(log_probs).mean())

    def last_loss_kept():
        net, optimizer = pair()
        best = None
        for _ in range(3):
            loss = F.mse_loss(net(X), Y)
            trained(optimizer, loss)
            best = loss if best is None else min(best, loss)
        return best

    calm(micro_batches, policy_gradient, last_loss_kept)


def test_pickled_with_its_graph():
    """A non-leaf cannot be deep-copied or pickled by a queue; detached it can."""

    def sick():
        net, _ = pair()
        features = net(X)
        copy.deepcopy({"features": features})

    def healthy():
        net, _ = pair()
        features = net(X)
        copy.deepcopy({"features": features.detach()})
        pickle.dumps(net.state_dict())
        torch.save(features.detach(), io.BytesIO())
        copy.deepcopy(net)

    diagnosed(sick, "AG503", "features = net(X)", "features", severity="error")
    calm(healthy)


def test_module_that_caches_an_activation():
    """deepcopy of a model fails when it keeps an output with its graph as an attribute."""

    class Caching(nn.Module):
        def __init__(self, keep):
            super().__init__()
            self.linear, self.keep, self.last = nn.Linear(4, 1), keep, None

        def forward(self, x):
            out = self.linear(x)
            self.last = self.keep(out)
            return out

    def program(keep):
        net = Caching(keep)
        net(X).sum().backward()
        copy.deepcopy(net)

    diagnosed(
        lambda: program(lambda t: t),
        "AG503",
        "self.last = self.keep(out)",
        "out",
        severity="error",
        where=Caching.forward,
    )
    calm(lambda: program(torch.Tensor.detach))


class Embedded:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def test_dataset_of_attached_features():
    """A DataLoader with workers cannot send tensors that carry a graph."""

    def program(prepare):
        encoder = nn.Linear(4, 3)
        features = prepare(encoder(X))
        for batch in DataLoader(Embedded(features), batch_size=4, num_workers=1):
            batch.sum()

    diagnosed(
        lambda: program(lambda t: t),
        "AG503",
        "features = prepare(encoder(X))",
        "features",
        severity="error",
        where=program,
    )
    calm(lambda: program(torch.Tensor.detach))


def test_remembered_features_of_a_model_that_is_copied():
    """Parameters are leaves and not to blame, and training has to go on with what is remembered."""

    class Remembering(nn.Module):
        def __init__(self, keep):
            super().__init__()
            self.body, self.head, self.keep, self.last = nn.Linear(4, 3), nn.Linear(3, 1), keep, None

        def forward(self, x):
            if self.keep:
                self.last = self.body(x).relu()
                return self.head(self.last)
            features = self.body(x).relu()
            self.last = features.detach()
            return self.head(features)

    def program(keep):
        net, optimizer = pair(Remembering(keep))
        trained(optimizer, F.mse_loss(net(X), Y))
        copy.deepcopy(net)

    finding = diagnosed(
        lambda: program(keep=True), "AG503", "self.last = self.body(x).relu()", "self.last", "deep-copied",
        severity="error", where=Remembering.forward,
    )  # fmt: skip
    assert finding.subjects == ("self.last",)
    assert "detached copy in self.last" in finding.fix
    calm(lambda: program(keep=False))


def test_sent_through_a_pipe():
    """The one tensor that torch refused is named, and the line that sent it."""

    def program(ready):
        receiver, sender = torch.multiprocessing.Pipe()
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3))
        logits, value = net(X).split([2, 1], dim=-1)
        sender.send({"probabilities": logits.detach(), "value": ready(value)})
        receiver.close()
        return logits

    finding = diagnosed(
        lambda: program(lambda t: t), "AG503", "logits, value = net(X)", "value", "another process", severity="error",
        where=program,
    )  # fmt: skip
    assert finding.subjects == ("value",)
    assert any(place.role == "serialized here" and "sender.send" in place.source for place in finding.locations)
    assert "`value.detach()`" in finding.fix
    calm(lambda: program(torch.Tensor.detach))
