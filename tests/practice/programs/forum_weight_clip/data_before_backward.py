"""WGAN critic: weights are clipped through .data after the forward pass and before backward, so the gradient is of a mix of two networks."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self, n=3, width=12):
        super().__init__()
        self.l1 = nn.Linear(n, width)
        self.l2 = nn.Linear(width, width)
        self.l3 = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.nn.functional.leaky_relu(self.l1(x), 0.2)
        h = torch.nn.functional.leaky_relu(self.l2(h), 0.2)
        return self.l3(h).mean()


def clip_weights(net, c):
    for p in net.parameters():
        p.data.clamp_(-c, c)  # also


class WassersteinTrainer:
    def __init__(self, clip=0.1):
        self.critic = Critic()
        self.clip = clip
        self.opt = torch.optim.RMSprop(self.critic.parameters(), lr=5e-2)

    def loss(self, real, fake):
        return self.critic(fake) - self.critic(real)

    def step(self, real, fake):
        self.opt.zero_grad()
        loss = self.loss(real, fake)
        want = torch.autograd.grad(loss, self.critic.l1.weight, retain_graph=True)[0]
        clip_weights(self.critic, self.clip)  # cause
        loss.backward()
        got = self.critic.l1.weight.grad.clone()
        self.opt.step()
        return want, got


def run():
    torch.manual_seed(0)
    trainer = WassersteinTrainer()
    errors = []
    for _ in range(3):
        real = torch.randn(16, 3) + 1
        fake = torch.rand(16, 3)
        want, got = trainer.step(real, fake)
        errors.append(((want - got).norm() / want.norm()).item())
    return errors


def verify(errors):
    assert all(e > 0.05 for e in errors), errors


TRUTH = Truth(
    fault="the weights are changed through .data between forward and backward, which autograd cannot see: the gradient is wrong",
    names=("data",),
    repair=(
        "loss.backward(retain_graph=True)\ngot = self.critic.l1.weight.grad.clone()\nself.opt.step()\nclip_weights(self.critic, self.clip)\nreturn want, got",
    ),
)
