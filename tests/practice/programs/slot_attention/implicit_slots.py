"""Slot attention: all iterations but the last without gradient, slots detached, then one differentiable pass. Healthy."""
import torch
from torch import nn

from tests.practice.truth import Truth


class SlotAttention(nn.Module):
    """Implicit differentiation by one step at the fixed point (Chang et al. 2022)."""

    def __init__(self, slots, dim, iterations=3):
        super().__init__()
        self.slots, self.iterations, self.scale = slots, iterations, dim ** -0.5
        self.mu = nn.Parameter(torch.randn(1, slots, dim))
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.gru = nn.GRUCell(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def update(self, slots, k, v):
        b, s, d = slots.shape
        weights = (self.scale * self.to_q(self.norm(slots)) @ k.transpose(1, 2)).softmax(1) + 1e-6
        update = weights / weights.sum(-1, keepdim=True) @ v
        return self.gru(update.reshape(-1, d), slots.reshape(-1, d)).view(b, s, d)

    def forward(self, x):
        k, v = self.to_k(x), self.to_v(x)
        start = self.mu.expand(x.size(0), -1, -1)
        slots = start
        with torch.no_grad():
            for _ in range(self.iterations):
                slots = self.update(slots, k, v)
        slots = slots.detach() + start - start.detach()  # straight through to the initial slots
        return self.update(slots, k, v)


class ObjectAutoencoder(nn.Module):
    def __init__(self, channels=5, dim=8, slots=3):
        super().__init__()
        self.encode = nn.Linear(channels, dim)
        self.attention = SlotAttention(slots, dim)
        self.position = nn.Parameter(torch.randn(1, 1, 9, dim))
        self.decode = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, channels + 1))

    def forward(self, x):
        slots = self.attention(self.encode(x))
        out = self.decode(slots.unsqueeze(2) + self.position)
        return (out[..., :-1] * out[..., -1:].softmax(1)).sum(1)


def run():
    torch.manual_seed(0)
    model = ObjectAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    scene = torch.rand(8, 9, 5)
    before = [p.detach().clone() for p in model.parameters()]
    losses = []
    for _ in range(4):
        loss = nn.functional.mse_loss(model(scene), scene)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return before, list(model.parameters()), losses


def verify(outcome):
    before, after, losses = outcome
    assert all(not torch.equal(a, b) for a, b in zip(before, after))
    assert losses[-1] < losses[0]


TRUTH = Truth()
