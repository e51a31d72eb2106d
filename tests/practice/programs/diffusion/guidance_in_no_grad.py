"""Classifier guidance: the sampler is decorated with no_grad, and asks for the classifier's gradient inside."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 4))

    def forward(self, x, t):
        return self.net(torch.cat([x, t[:, None]], -1))


class Sampler:
    def __init__(self, model, classifier, steps=4):
        self.model, self.classifier, self.steps = model, classifier, steps
        self.betas = torch.linspace(1e-3, 0.2, steps)
        self.abar = torch.cumprod(1 - self.betas, 0)

    def cond_grad(self, x, y):
        x = x.detach().requires_grad_(True)
        log_prob = self.classifier(x).log_softmax(-1).gather(1, y[:, None]).sum()
        return torch.autograd.grad(log_prob, x)[0]  # symptom

    @torch.no_grad()  # cause
    def sample(self, y):
        x = torch.randn(len(y), 4)
        for i in reversed(range(self.steps)):
            eps = self.model(x, torch.full((len(y),), float(i)))
            mean = (x - self.betas[i] / (1 - self.abar[i]).sqrt() * eps) / (1 - self.betas[i]).sqrt()
            x = mean + self.betas[i] * self.cond_grad(x, y) + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def run():
    torch.manual_seed(0)
    classifier = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    return Sampler(Denoiser(), classifier).sample(torch.tensor([0, 1, 2]))


TRUTH = Truth(
    fault="grad mode is off where the classifier's gradient is wanted",
    raises="element 0 of tensors does not require grad",
    repair=("@torch.enable_grad()",),
)
