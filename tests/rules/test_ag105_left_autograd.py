"""AG105: a value left autograd and came back without its history."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def classifier():
    net = nn.Linear(4, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def test_loss_rewrapped_by_torch_tensor():
    """`torch.tensor(loss)` copies the value; the loss itself is what to differentiate."""

    def sick():
        net, optimizer = classifier()
        loss = F.cross_entropy(net(X), Y)
        loss = torch.tensor(loss)
        trained(optimizer, loss)

    def requiring_grad():
        net, optimizer = classifier()
        loss = F.cross_entropy(net(X), Y)
        copied = torch.tensor(loss.item(), requires_grad=True)
        trained(optimizer, copied)

    def healthy():
        net, optimizer = classifier()
        history = []
        for _ in range(2):
            loss = F.cross_entropy(net(X), Y)
            trained(optimizer, loss)
            history.append(loss.item())
        return torch.tensor(history).mean()

    diagnosed(sick, "AG105", "loss = torch.tensor(loss)", "torch.tensor", "loss", severity="error")
    diagnosed(requiring_grad, "AG105", "torch.tensor(loss.item()", "item", "weight", severity="warning")
    silent(healthy)


def test_losses_collected_as_numbers():
    """The mean of `.item()` values is a constant, however it is computed."""

    def summed(total):
        net, optimizer = classifier()
        losses = [F.cross_entropy(net(X[i : i + 2]), Y[i : i + 2]) for i in (0, 2, 4)]
        trained(optimizer, total(losses))

    def by_numpy(losses):
        return torch.tensor(np.mean([loss.item() for loss in losses]), requires_grad=True)

    def by_python(losses):
        total = 0.0
        for loss in losses:
            total += loss.item()
        return torch.tensor(total / len(losses), requires_grad=True)

    def by_list(losses):
        return torch.tensor(losses, requires_grad=True).mean()

    for program in (by_numpy, by_python, by_list):
        diagnosed(
            lambda program=program: summed(program), "AG105", "requires_grad=True", "weight", severity="warning",
            where=program,
        )  # fmt: skip
    silent(lambda: summed(lambda losses: torch.stack(losses).mean()), lambda: summed(sum))


def test_round_trip_through_numpy():
    """What NumPy or SciPy computes comes back without history; postprocessing belongs after the loss."""

    def smoothed(smooth):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        signal = net(X).squeeze(-1)
        trained(optimizer, F.mse_loss(smooth(signal), Y.float()))
        return np.convolve(signal.detach().numpy(), np.ones(3) / 3, mode="same")

    def filtered(signal):
        array = np.convolve(signal.detach().numpy(), np.ones(3) / 3, mode="same")
        return torch.from_numpy(array).float()

    diagnosed(
        lambda: smoothed(filtered), "AG105", "torch.from_numpy(array)", "numpy", "weight", severity="error",
        where=filtered,
    )  # fmt: skip
    silent(lambda: smoothed(lambda signal: F.avg_pool1d(signal[None, None], 3, 1, 1)[0, 0]))


def test_scores_written_into_a_tensor_as_numbers():
    """Filling a result with `float(...)` values copies them; stacking the scores keeps their graph."""

    def ranked(collect):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, F.margin_ranking_loss(collect(net), torch.zeros(8), torch.ones(8), margin=1.0))

    def filled(net):
        scores = torch.zeros(8, requires_grad=True).clone()
        for i, row in enumerate(X):
            scores[i] = float(net(row))
        return scores

    diagnosed(lambda: ranked(filled), "AG105", "float(net(row))", "weight", severity="warning", where=filled)
    silent(lambda: ranked(lambda net: torch.stack([net(row).squeeze() for row in X])))


def test_old_constructors():
    """torch.Tensor and torch.FloatTensor copy like torch.tensor."""

    def program(rewrap):
        net, optimizer = classifier()
        trained(optimizer, rewrap(F.cross_entropy(net(X), Y)))

    def upper(loss):
        return torch.Tensor([loss]).mean()

    def typed(loss):
        return torch.FloatTensor([loss.item()]).mean()

    def listed(loss):
        return torch.tensor(loss.tolist())

    for sick, line in ((upper, "torch.Tensor([loss])"), (typed, "FloatTensor("), (listed, "loss.tolist()")):
        diagnosed(lambda sick=sick: program(sick), "AG105", line, "weight", severity="error", where=sick)
    silent(lambda: program(lambda loss: loss))


def test_numbers_for_the_learning_rate_and_the_log():
    """Values that leave for a scheduler, a log or an early stop never come back: nothing is cut."""

    def healthy():
        net, optimizer = classifier()
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        best, weights = float("inf"), torch.tensor([0.4, 0.6])
        for _ in range(3):
            loss = F.cross_entropy(net(X), Y, weight=weights)
            trained(optimizer, loss)
            scheduler.step(loss.item())
            best = min(best, float(loss))
            weights = torch.tensor(net(X).softmax(-1).mean(0).tolist())
        return best

    silent(healthy)


def test_features_through_numpy_in_front_of_a_head():
    """The head goes on learning, so nothing raises; the encoder does not."""

    def program(transform):
        encoder, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
        trained(optimizer, F.cross_entropy(head(transform(encoder(X))), Y))

    def by_numpy(features):
        return torch.from_numpy(np.tanh(features.detach().numpy()))

    def by_list(features):
        return torch.tensor(features.tolist())

    def copied(features):
        return features.new_tensor(features)

    for sick, line in ((by_numpy, "np.tanh("), (by_list, "features.tolist()"), (copied, "features.new_tensor(")):
        diagnosed(lambda sick=sick: program(sick), "AG105", line, "encoder.weight", severity="warning", where=sick)
    silent(lambda: program(torch.tanh))


def test_features_extracted_by_helpers():
    """The way out and the way back lie in different helpers."""

    def to_numpy(tensor):
        return tensor.detach().cpu().numpy()

    def to_torch(array):
        return torch.from_numpy(array * 2.0).float()

    def program(transform):
        encoder, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
        trained(optimizer, F.cross_entropy(head(transform(encoder(X))), Y))
        return to_numpy(encoder(X)).mean()

    diagnosed(
        lambda: program(lambda features: to_torch(to_numpy(features))), "AG105", "tensor.detach().cpu().numpy()",
        "encoder.weight", "numpy", severity="warning", where=to_numpy,
    )  # fmt: skip
    silent(lambda: program(lambda features: features * 2.0))


def test_generator_rewrapped_in_front_of_a_frozen_discriminator():
    """The loss is the generator's, whose gradients were cleared: what is frozen for it explains nothing."""

    def program(rewrap):
        generator, discriminator = nn.Linear(4, 4), nn.Linear(4, 1)
        of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
        torch.optim.SGD(discriminator.parameters(), lr=0.1)
        discriminator.requires_grad_(False)
        fake = rewrap(generator(torch.randn(8, 4)))
        trained(of_generator, discriminator(fake).mean())

    def rewrapped(values):
        return torch.tensor(values)

    diagnosed(
        lambda: program(rewrapped),
        "AG105",
        "torch.tensor(values)",
        "generator.weight",
        severity="error",
        where=rewrapped,
    )
    silent(lambda: program(lambda values: values))
