"""Cuts that keep away a part of a gradient: info where a branch is lost, silence where the value is a reference."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import (
    AffineTransform,
    Categorical,
    Independent,
    MultivariateNormal,
    Normal,
    OneHotCategoricalStraightThrough,
    TransformedDistribution,
)
from torch.nn.utils.rnn import pack_padded_sequence

from .programs import inspected, line_of, summary, trained

X = torch.randn(8, 4)


def infos(program):
    """(rule, first line, subjects) of each info, and no alarm."""
    report = inspected(program)
    assert {finding.severity for finding in report.findings} <= {"info"}, summary(report)
    return [(f.rule, f.locations[0].lineno, set(f.subjects)) for f in report.findings]


def test_one_of_two_branches_of_shared_weights():
    """The trunk learns from one branch, and the other one is told."""

    def program():
        trunk, head = nn.Linear(4, 3), nn.Linear(6, 1)
        optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
        left = trunk(X)
        right = trunk(X + 1).detach()
        trained(optimizer, head(torch.cat([left, right], dim=1)).pow(2).mean())

    assert infos(program) == [("AG101", line_of(program, ".detach()"), {"trunk.weight", "trunk.bias"})]


def test_a_sample_that_is_drawn_without_gradient():
    """The encoder learns from the regularizer alone: its way through the decoder is cut."""

    def program():
        encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
        mean = encoder(X)
        with torch.no_grad():
            z = mean + torch.randn_like(mean)
        trained(optimizer, F.mse_loss(decoder(z), X) + mean.pow(2).mean())

    assert infos(program) == [("AG102", line_of(program, "torch.no_grad()"), {"encoder.weight", "encoder.bias"})]


def test_a_state_that_is_detached_at_every_step_of_a_recurrent_network():
    """The cell learns from the last step only: its weights refer to nothing, they are what the state goes through."""

    def program():
        cell = nn.RNNCell(4, 4)
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        h = torch.zeros(8, 4)
        for _ in range(3):
            h = cell(X, h.detach())
        trained(optimizer, h.pow(2).mean())

    [(rule, line, names)] = infos(program)
    assert (rule, line) == ("AG101", line_of(program, "h.detach()"))
    assert "cell.weight_hh" in names


def test_an_addend_of_a_mean_that_was_computed_without_gradient():
    """What is only added to a loss has no effect on any gradient."""

    def program():
        critic = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        with torch.no_grad():
            sampled = critic(X + 1).squeeze(1)
        trained(optimizer, F.mse_loss(critic(X), X[:, :1]) + 5 * (sampled - critic(X).squeeze(1)).mean())

    assert infos(program) == [("AG102", line_of(program, "torch.no_grad()"), {"critic.weight", "critic.bias"})]


def test_values_that_others_refer_to_are_silent():
    """A target of the network itself, the other view, a maximum, a norm, a weight, an attack."""

    def target():
        network = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        with torch.no_grad():
            goal = 1 + 0.9 * network(X + 1)
        trained(optimizer, F.smooth_l1_loss(network(X), goal))

    def siamese():
        encoder, predictor = nn.Linear(4, 3), nn.Linear(3, 3)
        optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.1)
        one, two = encoder(X), encoder(X + 1)
        trained(optimizer, -F.cosine_similarity(predictor(one), two.detach()).mean())

    def stable():
        network = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        logits = network(X)
        logits = logits - logits.max(1, keepdim=True).values.detach()
        logits = logits / logits.norm().detach()
        trained(optimizer, logits.exp().sum(1).log().mean())

    def actor_and_critic():
        actor, critic = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.1)
        error = X.sum(1, keepdim=True) - critic(X)
        trained(optimizer, error.pow(2).mean() - (actor(X) * error.detach()).mean())

    def committed():
        encoder, codes = nn.Linear(4, 3), nn.Parameter(torch.ones(8, 3))
        optimizer = torch.optim.SGD([*encoder.parameters(), codes], lr=0.1)
        z = encoder(X)
        trained(optimizer, F.mse_loss(codes, z.detach()) + 0.25 * F.mse_loss(z, codes.detach()))

    def attacked():
        network = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        x = X.clone().requires_grad_()
        (direction,) = torch.autograd.grad(network(x).exp().sum(), x)
        trained(optimizer, network(X + 0.1 * direction.sign()).pow(2).mean())

    for program in (target, siamese, stable, actor_and_critic, committed, attacked):
        assert infos(program) == [], program.__name__


def test_what_earlier_steps_computed_is_silent():
    """The graph of the window before is gone; a moving average of the weights is state, not a way to the loss."""

    def windows():
        cell = nn.RNNCell(4, 4)
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        h = torch.zeros(8, 4)
        for _ in range(3):
            h = cell(X, h.detach())
            trained(optimizer, h.pow(2).mean())

    def averaged():
        network = nn.Linear(4, 4)
        average = copy.deepcopy(network)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(2):
            with torch.no_grad():
                goal = average(X)
            trained(optimizer, F.mse_loss(network(X), goal))
            for old, new in zip(average.parameters(), network.parameters(), strict=True):
                old.data.mul_(0.9).add_(new.data, alpha=0.1)

    for program in (windows, averaged):
        assert infos(program) == [], program.__name__


def test_an_index_has_no_gradient_to_lose():
    """The nearest code is looked for under no_grad; that way nothing was to come back."""

    def program():
        encoder, codes = nn.Linear(4, 3), nn.Embedding(5, 3)
        optimizer = torch.optim.SGD([*encoder.parameters(), *codes.parameters()], lr=0.1)
        z = encoder(X)
        with torch.no_grad():
            nearest = torch.cdist(z, codes.weight).argmin(dim=1)
        trained(optimizer, F.mse_loss(codes(nearest), z))

    assert infos(program) == []


def test_masks_and_counts_that_weigh_what_learns_are_silent():
    """A mask of the loss itself, the load of experts, a weight by how many are alike: none has a gradient to lose."""

    def learned(loss_of):
        network = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(network(X)))

    def masked(logits):
        far = logits.norm(dim=1)
        mask = (far > 0.5).float()
        return (mask * (far - 1).pow(2)).sum() / mask.sum().clamp(min=1)

    def load(logits):
        shares = logits.softmax(-1)
        weight, chosen = shares.topk(2, dim=-1)
        counted = F.one_hot(chosen, 3).float().sum(1).mean(0)
        return weight.pow(2).mean() + (counted * shares.mean(0)).sum()

    def harmonized(logits):
        bins = (logits.sigmoid().detach() * 4.99).long()
        alike = torch.bincount(bins.flatten(), minlength=5).float()
        return (F.softplus(logits) / alike[bins]).mean()

    def confidence(logits):
        sure, chosen = logits.softmax(1).max(1)
        return F.softplus(logits).mean() + (sure - chosen.eq(0).float()).abs().mean()

    for loss_of in (masked, load, harmonized, confidence):
        assert infos(lambda loss_of=loss_of: learned(loss_of)) == [], loss_of.__name__


def test_counts_that_a_layer_takes_in_are_told():
    """What is fed to a layer as the only way of a value is a way to the loss, whether it counts or not."""

    def program():
        network, head = nn.Linear(4, 3), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*network.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            logits = network(X)
            chosen = F.one_hot(logits.argmax(1), 3).float()  # cut
            trained(optimizer, head(chosen).mean() + logits.pow(2).mean())

    assert infos(program) == [("AG104", line_of(program, "# cut"), {"network.weight", "network.bias"})]


def test_the_lengths_of_a_packed_sequence_are_silent():
    """Its numbers keep their history; its lengths come of no number, and size the first state."""

    def program():
        table, cell = nn.Embedding(5, 4), nn.LSTM(4, 3, batch_first=True)
        optimizer = torch.optim.SGD([*table.parameters(), *cell.parameters()], lr=0.1)
        for _ in range(2):
            packed = pack_padded_sequence(
                table(torch.ones(2, 3, dtype=torch.long)), torch.tensor([3, 2]), batch_first=True
            )
            trained(optimizer, cell(packed)[0].data.pow(2).mean())

    assert infos(program) == []


def test_straight_through_estimators_are_silent():
    """What is hard has its gradient from what is soft, in whichever order the sum is written."""

    def trained_with(estimate):
        net, head = nn.Linear(4, 3), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            trained(optimizer, head(estimate(net(X))).pow(2).mean())

    def of_torch(logits):
        return OneHotCategoricalStraightThrough(logits=logits).rsample()

    def sample_first(logits):
        soft = logits.softmax(-1)
        return torch.bernoulli(soft.detach()) + (soft - soft.detach())

    def scaled(logits):
        return (logits - 0.1 * logits).detach() + 0.1 * logits

    def gap(logits):
        soft = logits.sigmoid()
        with torch.no_grad():
            offset = soft.round() - soft
        return soft + offset

    for estimate in (of_torch, sample_first, scaled, gap):
        assert infos(lambda estimate=estimate: trained_with(estimate)) == []


def test_a_sample_whose_probability_trains_has_nothing_to_lose():
    """A score function estimator is how the distribution learns, also where the sample goes on into a layer."""

    def trained_with(loss_of, other):
        net = nn.Linear(4, 3)
        optimizer = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net(X), other))

    def normal(mean, scale):
        policy = MultivariateNormal(mean, scale_tril=scale.tril())
        action = policy.sample()
        reward = action.sum(1)
        return -(policy.log_prob(action) * (reward - reward.mean()) / reward.std()).mean()

    def model_of_the_world(logits, layer):
        policy = Categorical(logits=logits)
        action = policy.sample()
        return layer(F.one_hot(action, 3).float()).pow(2).mean() - policy.log_prob(action).mean()

    def drawn_by_hand(logits, layer):
        action = logits.softmax(-1).multinomial(1)
        chosen = logits.log_softmax(-1).gather(1, action)
        return layer(F.one_hot(action.squeeze(1), 3).float()).pow(2).mean() - chosen.mean()

    def not_scored(logits, layer):
        action = logits.softmax(-1).multinomial(1)
        return layer(F.one_hot(action.squeeze(1), 3).float()).pow(2).mean() + logits.pow(2).mean()

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torch.eye(3))

        def tril(self):
            return self.factor.tril()

    assert infos(lambda: trained_with(normal, Scale())) == []
    for loss_of in (model_of_the_world, drawn_by_hand):
        assert infos(lambda loss_of=loss_of: trained_with(loss_of, nn.Linear(3, 3))) == []
    assert [rule for rule, _, _ in infos(lambda: trained_with(not_scored, nn.Linear(3, 3)))] == ["AG104"]


def test_a_detached_value_that_is_only_compared_has_nothing_to_lose():
    """The comparison has no derivative anyway: a quantile loss detaches the error for the side that it lies on."""

    def trained_with(weight_of):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            error = net(X) - 1
            trained(optimizer, (weight_of(error) * error.abs()).mean())

    assert infos(lambda: trained_with(lambda error: (0.3 - (error.detach() < 0).float()).abs())) == []


def test_a_constant_in_the_shape_of_a_value_has_no_history_to_lose():
    """``full_like`` takes the shape alone: the log determinant of a constant scale."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            base = Independent(Normal(net(X), 1.0), 1)
            scaled = TransformedDistribution(base, [AffineTransform(0.0, 2.0)])
            trained(optimizer, -scaled.log_prob(X[:, :2]).mean() + net(X).pow(2).mean())

    def by_hand():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            out = net(X)
            trained(optimizer, (out - torch.full_like(out, 0.5)).pow(2).mean() + out.abs().mean())

    assert infos(program) == []
    assert infos(by_hand) == []
