"""Noise-contrastive estimation: the log normaliser is a plain tensor attribute, so no optimizer ever gets it."""

import torch
from torch import nn
from torch.distributions import MultivariateNormal
from torch.nn import functional as F

from tests.practice.truth import Truth


class UnnormalisedModel(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_z = torch.zeros(1, requires_grad=True)  # cause

    def log_prob(self, x):
        return -self.body(x).squeeze(-1) - self.log_z


def nce_loss(model, noise_dist, data, k=2):
    noise = noise_dist.sample((k * len(data),))
    ratio_data = model.log_prob(data) - noise_dist.log_prob(data)
    ratio_noise = model.log_prob(noise) - noise_dist.log_prob(noise)
    logits = torch.cat([ratio_data, ratio_noise]) - torch.log(torch.tensor(float(k)))
    labels = torch.cat([torch.ones(len(data)), torch.zeros(len(noise))])
    return F.binary_cross_entropy_with_logits(logits, labels)


def run():
    torch.manual_seed(0)
    data = torch.randn(64, 2) @ torch.tensor([[1.0, 0.4], [0.0, 0.6]])
    noise_dist = MultivariateNormal(data.mean(0), torch.cov(data.T))
    model = UnnormalisedModel()
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        (decay if p.ndim > 1 else no_decay).append(p)
    opt = torch.optim.Adam(
        [{"params": decay, "weight_decay": 1e-4}, {"params": no_decay, "weight_decay": 0.0}], lr=1e-2
    )
    for epoch in range(2):
        for batch in data.split(32):
            opt.zero_grad()
            loss = nce_loss(model, noise_dist, batch)
            loss.backward()
            opt.step()
        print(f"epoch {epoch} nce {loss.item():.4f} log Z {model.log_z.item():.4f}")
    return model


def verify(out):
    assert out.log_z.item() == 0.0


TRUTH = Truth(
    fault="the normaliser is not a parameter and never moves",
    names=("log_z",),
    repair=("self.log_z = nn.Parameter(torch.zeros(1))",),
)
