"""AG104 and AG303 where autograd follows an op whose derivative is zero everywhere: the graph alone tells."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained
from .twins import calm

X = torch.rand(6, 8)


class VariationalAutoencoder(nn.Module):
    def __init__(self, draw):
        super().__init__()
        self.encoder, self.decoder, self.draw = nn.Linear(8, 6), nn.Linear(3, 8), draw

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        divergence = mean.pow(2).mean() + (log_variance.exp() - log_variance).mean()
        return self.decoder(self.draw(mean, (log_variance / 2).exp())), divergence


def reconstruct(draw, *, weight=0.0):
    """Two steps of training, with or without the divergence in the loss."""
    net = VariationalAutoencoder(draw)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(2):
        restored, divergence = net(X)
        loss = F.mse_loss(restored, X)
        trained(optimizer, loss + weight * divergence if weight else loss)


def test_latent_drawn_by_torch_normal():
    """`torch.normal(mean, std)` has a grad_fn that returns zeros; the reparametrised sample has a derivative."""

    def drawn(mean, std):
        return torch.normal(mean, std)

    def reparametrised(mean, std):
        return mean + std * torch.randn_like(std)

    def sick():
        reconstruct(drawn)

    diagnosed(sick, "AG104", "torch.normal(", "encoder.weight", "randn_like", severity="warning", where=drawn)
    diagnosed(
        sick, "AG104", "torch.normal(", "encoder.weight", severity="warning", where=drawn, values=True
    )  # Read or not, the zeros have that cause.
    silent(lambda: reconstruct(reparametrised), lambda: reconstruct(reparametrised, weight=0.1))


def test_only_the_divergence_trains_the_encoder():
    """A second term that reaches the encoder makes no gradient of what is computed of the sample."""

    def drawn(mean, std):
        return torch.normal(mean, std)

    diagnosed(
        lambda: reconstruct(drawn, weight=0.1), "AG104", "torch.normal(", "encoder.weight", severity="warning",
        where=drawn,
    )  # fmt: skip


def test_an_action_drawn_by_torch_normal():
    """A policy learns from the probability of the action that it drew, and from the bonus for its entropy."""

    def program():
        policy = nn.Linear(8, 2)
        optimizer = torch.optim.Adam(policy.parameters())
        for _ in range(2):
            mean, spread = policy(X).chunk(2, dim=1)
            action = torch.normal(mean, spread.exp())
            reward = -(action.detach() - 1).pow(2)
            chance = -((action - mean) / spread.exp()).pow(2) / 2 - spread
            trained(optimizer, -(chance * reward).mean() - 0.01 * spread.mean())

    silent(program)


def test_learned_bernoulli_gates():
    """A mask drawn from learned probabilities teaches them nothing, a policy's action need not."""

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.keep, self.out = nn.Parameter(torch.zeros(8)), nn.Linear(8, 1)

        def forward(self, x):
            mask = torch.bernoulli(self.keep.sigmoid())
            return self.out(x * mask), mask

    def program(policy):
        net = Gated()
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(2):
            value, mask = net(X)
            loss = value.pow(2).mean()
            if policy:
                chance = torch.distributions.Bernoulli(logits=net.keep).log_prob(mask.detach())
                loss = loss + (chance * loss.detach()).mean()
            trained(optimizer, loss)

    diagnosed(
        lambda: program(policy=False), "AG104", "torch.bernoulli(", "keep", severity="warning", where=Gated.forward
    )
    silent(lambda: program(policy=True))


def test_rounding_is_told_without_reading_values():
    """That round has derivative zero needs no look at a gradient; a second way round it is enough to learn."""

    def program(around):
        encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
        for _ in range(2):
            soft = encoder(X)
            hard = torch.round(soft * 8) / 8
            trained(optimizer, head(soft + (hard - soft).detach() if around else hard).pow(2).mean())

    diagnosed(
        lambda: program(around=False), "AG303", "torch.round(", "encoder.weight", severity="warning", where=program
    )
    calm(lambda: program(around=True))
