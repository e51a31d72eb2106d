"""A deep interest network with Dice activations; the copy of the best epoch cannot be made."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class Dice(nn.Module):
    """PReLU whose corner moves with the data."""

    def __init__(self, dim, momentum=0.1, eps=1e-8):
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(dim))
        self.momentum, self.eps = momentum, eps
        self.register_buffer("running_mean", torch.zeros(dim))
        self.register_buffer("running_var", torch.ones(dim))

    def forward(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0, unbiased=False)
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean  # cause
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var  # cause
        else:
            mean, var = self.running_mean, self.running_var
        p = torch.sigmoid((x - mean) * torch.rsqrt(var + self.eps))
        return p * x + (1 - p) * self.alpha * x


class DIN(nn.Module):
    def __init__(self, items=25, dim=6):
        super().__init__()
        self.items = nn.Embedding(items, dim, padding_idx=0)
        self.attention = nn.Sequential(nn.Linear(4 * dim, 12), nn.PReLU(), nn.Linear(12, 1))
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 16), Dice(16), nn.Linear(16, 1))

    def forward(self, history, candidate):
        h, c = self.items(history), self.items(candidate)
        q = c.unsqueeze(1).expand_as(h)
        weight = self.attention(torch.cat([q, h, q - h, q * h], -1)).squeeze(-1)
        weight = weight.masked_fill(history == 0, 0.0)
        return self.mlp(torch.cat([(weight.unsqueeze(-1) * h).sum(1), c], -1)).squeeze(-1)


def clicks(n=10, items=25):
    history = torch.randint(1, items, (n, 5))
    history[:, 3:] *= torch.randint(2, (n, 2))
    return history, torch.randint(1, items, (n,)), torch.randint(2, (n,)).float()


def run(epochs=2, batches=3):
    torch.manual_seed(0)
    model = DIN()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    best, lowest = None, float("inf")
    for epoch in range(epochs):
        model.train()
        for _ in range(batches):
            history, candidate, label = clicks()
            loss = nn.functional.binary_cross_entropy_with_logits(model(history, candidate), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} logloss {loss.item():.4f}")
        if loss.item() < lowest:
            best, lowest = copy.deepcopy(model), loss.item()  # symptom
    return best


TRUTH = Truth(
    fault="the running statistics are not detached: the buffers hold the graphs of all steps",
    raises="Only Tensors created explicitly by the user",
    names=("running_mean",),
    repair=(
        "self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean.detach()",
        "self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var.detach()",
    ),
)
