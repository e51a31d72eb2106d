"""AG303: a sum whose terms cancel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
ACTIONS = torch.arange(8) % 3


def steps(loss_of):
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, loss_of(net))


def test_hard_sample_whose_soft_part_cancels():
    """`hard - soft + soft` has no gradient; with one of the two detached it has the soft one's."""

    def sick(net):
        soft = net(X).softmax(-1)
        hard = F.one_hot(soft.argmax(-1), 3).float()
        return (hard - soft + soft).pow(2).sum()  # sum

    def well(net):
        soft = net(X).softmax(-1)
        hard = F.one_hot(soft.argmax(-1), 3).float()
        return (hard - soft.detach() + soft).pow(2).sum()

    diagnosed(lambda: steps(sick), "AG303", "# sum", "weight", "soft", "cancel", severity="warning", where=sick)
    calm(lambda: steps(well))


def test_target_that_contains_the_prediction():
    """The line that took the prediction into the target comes first; a detached one cancels nothing."""

    def sick(net):
        values = net(X)[:, 0]
        returns = (1.0 - values).detach() + values  # target
        return (returns - values).pow(2).sum()

    def well(net):
        values = net(X)[:, 0]
        returns = (1.0 - values).detach() + values.detach()
        return (returns - values).pow(2).sum()

    diagnosed(lambda: steps(sick), "AG303", "# target", "values", severity="warning", where=sick)
    calm(lambda: steps(well))


def test_ratio_of_a_policy_to_itself():
    """The same log-probabilities, computed twice with the same weights, cancel; those of before a step do not."""

    def log_prob(net):
        return torch.distributions.Categorical(logits=net(X)).log_prob(ACTIONS)

    def sick(net):
        new = log_prob(net)
        old = log_prob(net)  # again
        return -(new - old).exp().mean()

    def stepped():
        net = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        old = torch.zeros(8)
        for _ in range(3):
            new = log_prob(net)
            trained(optimizer, -(new - old).exp().mean())
            old = log_prob(net).detach()

    finding = diagnosed(
        lambda: steps(sick), "AG303", "log_prob(ACTIONS)", "old", "new", severity="warning", where=log_prob
    )
    assert "computed twice" in finding.message
    assert any("# again" in place.source for place in finding.locations)
    calm(stepped)


def test_a_second_name_for_an_old_value():
    """The line that gave the value its second name is shown as well."""

    def surrogate(new, old):
        return -(new - old).exp().mean()

    def sick(net):
        log_prob = net(X).log_softmax(-1)[:, 0]
        old_log_prob = log_prob
        return surrogate(log_prob, old_log_prob)

    finding = diagnosed(lambda: steps(sick), "AG303", "(new - old)", "log_prob", severity="warning", where=surrogate)
    assert any(place.source == "old_log_prob = log_prob" for place in finding.locations)


def test_a_second_name_that_is_chosen():
    """A conditional expression and `or` are shown where they gave the value, not where they gave another one."""

    def sick(net):
        new, before = net(X).log_softmax(-1)[:, 0], None
        old = new if before is None else before
        return -(new - old).exp().mean()

    def by_or(net):
        new, before = net(X).log_softmax(-1)[:, 0], None
        old = before or new
        return -(new - old).exp().mean()

    def chosen_otherwise(net):
        new = net(X).log_softmax(-1)[:, 0]  # once
        before = net(X).log_softmax(-1)[:, 0]  # again
        old = new if before is None else before
        return -(new - old).exp().mean()

    for loss_of in (sick, by_or):
        finding = diagnosed(
            lambda of=loss_of: steps(of), "AG303", "(new - old)", "new", severity="warning", where=loss_of
        )
        assert any(place.source.startswith("old =") for place in finding.locations)
    finding = diagnosed(
        lambda: steps(chosen_otherwise), "AG303", "# again", "new", severity="warning", where=chosen_otherwise
    )
    assert not any(place.source.startswith("old =") for place in finding.locations)


def test_second_names_that_stand_for_a_copy():
    """What the condition chose is a value of before, or detached: nothing cancels, and no name is a second one."""

    def of_before(net):
        new = net(X).log_softmax(-1)[:, 0]
        before = torch.zeros(8)
        old = new if before is None else before
        return -(new - old).exp().mean()

    def cut(net):
        new, before = net(X).log_softmax(-1)[:, 0], None
        old = new.detach() if before is None else before
        return -(new - old).exp().mean()

    def written(net):
        h = net(X)
        kept = h if net is None else h.clone()
        h.mul_(2)
        return (h + kept).pow(2).sum() + (h - kept).pow(2).sum()

    calm(*(lambda loss_of=loss_of: steps(loss_of) for loss_of in (of_before, cut, written)))


def test_differences_that_leave_something():
    """A residual, a difference of two draws, of two powers, of two elements, of two nets and of neighbours."""

    def residual(net):
        x = net(X)
        return ((x + x.tanh()) - x).pow(2).sum() + x.pow(2).sum()

    def draws(net):
        return (F.dropout(net(X)) - F.dropout(net(X))).pow(2).sum()

    def powers(net):
        return (net(X) * 2 - net(X) * 3).pow(2).sum() + (net(X).pow(2) - net(X).pow(3)).sum()

    def neighbours(net):
        x = net(X)
        return (x[:, 1:] - x[:, :-1]).pow(2).sum() + (x.roll(1, 0) - x.roll(2, 0)).pow(2).sum()

    def in_place(net):
        before = net(X)
        after = before.clone()
        after += 1.5 * before
        return (after - before).pow(2).sum()

    calm(*(lambda loss_of=loss_of: steps(loss_of) for loss_of in (residual, draws, powers, neighbours, in_place)))


def test_score_of_a_sample_that_carries_its_gradient():
    """With `rsample()` the mean cancels in the log-probability; it may where the sample goes on to a critic."""

    def of(draw, loss_of):
        def program():
            net, critic = nn.Linear(4, 3), nn.Linear(3, 1).requires_grad_(False)
            log_std = nn.Parameter(torch.zeros(3))
            optimizer = torch.optim.SGD([*net.parameters(), log_std], lr=0.1)
            for _ in range(2):
                distribution = torch.distributions.Normal(net(X), log_std.exp())
                trained(optimizer, loss_of(distribution, draw(distribution), critic))

        return program

    def with_gradient(distribution):
        return distribution.rsample()  # drawn

    def without(distribution):
        return distribution.sample()

    def score(distribution, action, critic):
        return -(distribution.log_prob(action) * (X[:, :3] > 0)).mean()

    def soft(distribution, action, critic):
        return (0.1 * distribution.log_prob(action) - critic(action)).mean()

    diagnosed(of(with_gradient, score), "AG303", "# drawn", "net.weight", severity="warning", where=with_gradient)
    calm(of(without, score), of(with_gradient, soft))


def test_rounding_without_a_constant():
    """`x + (round(x) - x)` has the gradient of the rounding, which is zero: x cancels, unless it is detached."""

    def sick(net):
        soft = net(X)
        return (soft + (torch.round(soft / 0.5) * 0.5 - soft)).pow(2).sum()  # through

    def well(net):
        soft = net(X)
        return (soft + (torch.round(soft / 0.5) * 0.5 - soft).detach()).pow(2).sum()

    diagnosed(lambda: steps(sick), "AG303", "# through", "soft", severity="warning", where=sick)
    calm(lambda: steps(well))


class Quantised(nn.Module):
    """An encoder, a codebook, and what is made of the encoded rows and the nearest codes."""

    def __init__(self, estimate):
        super().__init__()
        self.encoder, self.codes = nn.Linear(4, 3), nn.Parameter(torch.randn(5, 3))
        self.estimate = estimate

    def forward(self, x):
        z = self.encoder(x)
        q = self.codes[torch.cdist(z, self.codes).argmin(-1)]
        return self.estimate(z, q).pow(2).sum() + (q - z.detach()).pow(2).sum()


def fit(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, net(X))


def test_straight_through_estimator_without_its_detach():
    """Of `z + (q - z)` the code is left, which learns; the encoder has no other way to the loss, and learns nothing."""

    def sick(z, q):
        return z + (q - z)  # sum

    def well(z, q):
        return z + (q - z).detach()

    finding = diagnosed(
        lambda: fit(Quantised(sick)), "AG303", "# sum", "encoder", "z", "cancel", severity="warning", where=sick
    )
    assert not any("codes" in subject for subject in finding.subjects)
    calm(lambda: fit(Quantised(well)))


def test_parts_that_are_moved_from_one_sum_to_another():
    """What cancels in one sum learns by another term of it, or by another loss."""

    def residual(net):
        h = net(X)
        return (h + (torch.tanh(h) - h)).pow(2).sum()

    def apart():
        trunk, aside = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*trunk.parameters(), *aside.parameters()], lr=0.1)
        for _ in range(2):
            other = aside(X).pow(2).mean()
            total = trunk(X).pow(2).mean() + other
            optimizer.zero_grad()
            (total - other).backward(retain_graph=True)
            other.backward()
            optimizer.step()

    calm(lambda: steps(residual), apart)
