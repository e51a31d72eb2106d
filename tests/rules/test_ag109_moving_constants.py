"""AG109: targets and weights that should be numbers and carry a graph."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical, Normal

from .programs import diagnosed, trained
from .twins import calm

X, NEXT = torch.randn(2, 16, 4, generator=torch.Generator().manual_seed(1))
REWARD = torch.linspace(-1, 1, 16)
ACTIONS = (torch.arange(16) % 3).unsqueeze(1)


def steps(loss_of, *nets):
    optimizer = torch.optim.SGD(nn.ModuleList(nets).parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, loss_of(*nets))


def chosen(q):
    return q(X).gather(1, ACTIONS).squeeze(1)


def test_target_of_the_network_itself():
    """A bootstrap target with its graph, in a loss function and as a squared difference; detached it is a number."""

    def in_a_loss(q):
        target = REWARD + 0.9 * q(NEXT).max(1).values  # target
        return F.smooth_l1_loss(chosen(q), target)

    def squared(q):
        done = (REWARD > 0.9).float()
        error = REWARD + 0.9 * (1 - done) * q(NEXT).amax(1) - chosen(q)  # target
        return error.pow(2).mean()

    def detached(q):
        return F.mse_loss(chosen(q), REWARD + 0.9 * q(NEXT).max(1).values.detach())

    for loss_of in (in_a_loss, squared):
        diagnosed(
            lambda loss_of=loss_of: steps(loss_of, nn.Linear(4, 3)),
            "AG109", "# target", "weight", "the target", severity="warning", where=loss_of,
        )  # fmt: skip
    calm(lambda: steps(detached, nn.Linear(4, 3)))


def test_two_ends_that_both_learn():
    """Two views that are to agree, a network at two times, a deviation, a target of another network."""

    def views(net):
        return F.mse_loss(net(X), net(X + 0.1)) + (net(NEXT) - 1).pow(2).mean()

    def equation(net):
        now, later = net(X), net(NEXT)
        return F.mse_loss(later, now + 0.1 * (REWARD.unsqueeze(1) - now.pow(3)))

    def other(net, critic):
        return F.mse_loss(net(X)[:, 0], REWARD + 0.9 * critic(NEXT)[:, 0])

    def deviation(net):
        lengths = net(X).norm(dim=1)
        mean = REWARD.mean() + 0.01 * (lengths.mean() - REWARD.mean())
        return (lengths - mean).pow(2).mean()

    calm(
        lambda: steps(deviation, nn.Linear(4, 3)),
        lambda: steps(views, nn.Linear(4, 3)),
        lambda: steps(equation, nn.Linear(4, 3)),
        lambda: steps(other, nn.Linear(4, 3), nn.Linear(4, 1)),
    )


def test_advantage_with_the_critics_graph():
    """The factor of a drawn action's log-probability; detached, or cleared before the critic's step, it is none."""

    def of(distribution_of, *, detach):
        def loss_of(actor, critic):
            distribution = distribution_of(actor(X))
            with torch.no_grad():
                action = distribution.sample()
            advantage = REWARD - critic(X).squeeze(1)
            weight = advantage.detach() if detach else advantage
            policy_loss = -(distribution.log_prob(action) * weight).mean()  # product
            return policy_loss + advantage.pow(2).mean()

        return loss_of

    def categorical(out):
        return Categorical(logits=out)

    def normal(out):
        return Normal(out[:, 0], 1.0)

    for distribution_of in (categorical, normal):
        sick = of(distribution_of, detach=False)
        diagnosed(
            lambda sick=sick: steps(sick, nn.Linear(4, 3), nn.Linear(4, 1)),
            "AG109", "# product", "nets[1].weight", "advantage", severity="warning", where=sick,
        )  # fmt: skip
        well = of(distribution_of, detach=True)
        calm(lambda well=well: steps(well, nn.Linear(4, 3), nn.Linear(4, 1)))


def test_gradient_of_the_factor_that_no_step_uses():
    """The critic's gradients of the policy's loss are cleared before its own loss."""

    def program():
        actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
        actor_optimizer = torch.optim.SGD(actor.parameters(), lr=0.1)
        critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(2):
            distribution = Categorical(logits=actor(X))
            value = critic(X).squeeze(1)
            trained(actor_optimizer, -(distribution.log_prob(distribution.sample()) * (REWARD - value)).mean())
            trained(critic_optimizer, (REWARD - critic(X).squeeze(1)).pow(2).mean())

    calm(program)


def test_products_that_are_no_estimate():
    """A gate that weighs the likelihood of data, and a sample that carries its own gradient."""

    def gated(expert, gate):
        likelihood = expert(X).log_softmax(-1).gather(1, ACTIONS).squeeze(1)
        return -(gate(X).sigmoid().squeeze(1) * likelihood).mean()

    def reparametrised(actor, critic):
        distribution = Normal(actor(X)[:, :1], 1.0)
        action = distribution.rsample()
        return (distribution.log_prob(action) * 0.1 - critic(torch.cat([X[:, :3], action], 1))).mean()

    calm(
        lambda: steps(gated, nn.Linear(4, 3), nn.Linear(4, 1)),
        lambda: steps(reparametrised, nn.Linear(4, 3), nn.Linear(4, 1)),
    )


def test_a_penalty_on_the_probability_that_it_weighs():
    """The KL penalty of a reward: the log-probability is in the factor that multiplies it; detached it is a number."""

    def estimate(policy, *, detach):
        logits = policy(X)
        with torch.no_grad():
            tokens = logits.softmax(-1).multinomial(1)
        log_prob = logits.log_softmax(-1).gather(1, tokens).squeeze(1)
        penalty = log_prob.detach() if detach else log_prob
        reward = REWARD - 0.5 * (penalty + 1.0)
        return -(reward * log_prob).mean()  # product

    diagnosed(
        lambda: steps(lambda policy: estimate(policy, detach=False), nn.Linear(4, 3)),
        "AG109", "# product", "reward", severity="warning", where=estimate,
    )  # fmt: skip
    calm(lambda: steps(lambda policy: estimate(policy, detach=True), nn.Linear(4, 3)))


def test_a_difference_that_is_no_distance():
    """The log density of a flow: the divergence is subtracted, and both of its ends learn; no loss measures it."""

    def flow(net):
        z, log_det = X.clone().requires_grad_(), torch.zeros(16)
        noise = torch.ones_like(z)
        for _ in range(2):
            slope = net(z)
            divergence = (torch.autograd.grad(slope, z, noise, create_graph=True)[0] * noise).sum(1)
            z, log_det = z + slope / 2, log_det - divergence / 2
        return -(Normal(0.0, 1.0).log_prob(z).sum(1) - log_det).mean()

    calm(lambda: steps(flow, nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))))


def test_a_quantile_loss_measures_by_the_side():
    """The error of a bootstrap target, weighed by its sign, is a distance as its square is."""

    def quantile(q):
        error = REWARD + 0.9 * q(NEXT).amax(1) - chosen(q)  # target
        return (error * (0.3 - (error < 0).float())).mean()

    diagnosed(
        lambda: steps(quantile, nn.Linear(4, 3)), "AG109", "# target", "the target", severity="warning", where=quantile
    )


def test_rows_that_a_draw_picks_are_no_scores():
    """Neighbours drawn by a network's own scores: a gate weights their features, no probability of the draw."""
    edges = torch.arange(32).view(2, 16) % 8

    def loss(encoder, gate):
        h = encoder(X)
        with torch.no_grad():
            chosen = edges[:, torch.multinomial(gate(encoder(X))[:, 0].exp(), 6)]
        source, target = chosen
        messages = torch.sigmoid(gate(h)[target]) * h[source]
        return torch.zeros(16, 4).index_add(0, target, messages).pow(2).mean()

    calm(lambda: steps(loss, nn.Linear(4, 4), nn.Linear(4, 1)))
