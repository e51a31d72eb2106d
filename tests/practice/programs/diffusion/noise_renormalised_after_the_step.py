"""The initial noise of a frozen sampler is optimised; after each step it is normalised into another tensor."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, 32), nn.SiLU(), nn.Linear(32, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, t.expand(len(x), 1)], -1))


class Sampler:
    def __init__(self, model, steps=4):
        self.model = model.requires_grad_(False).eval()
        self.alphas = torch.linspace(0.3, 0.99, steps)

    def __call__(self, latents):
        x = latents
        for i, alpha in enumerate(self.alphas):
            eps = self.model(x, torch.tensor([[float(i)]]))
            clean = (x - (1 - alpha).sqrt() * eps) / alpha.sqrt()
            following = self.alphas[i + 1] if i + 1 < len(self.alphas) else torch.tensor(1.0)
            x = following.sqrt() * clean + (1 - following).sqrt() * eps
        return x


def reward(images):
    return -(images - 1).pow(2).mean()


def run(iterations=5):
    torch.manual_seed(0)
    sampler = Sampler(Denoiser())
    latents = torch.randn(2, 8, requires_grad=True)
    first = latents
    optimizer = torch.optim.SGD([latents], lr=0.5, momentum=0.9, nesterov=True)
    rewards = []
    for _ in range(iterations):
        loss = -reward(sampler(latents))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([latents], 1.0)
        optimizer.step()
        rewards.append(-loss.item())
        with torch.no_grad():
            latents = (latents / latents.std()).requires_grad_(True)  # cause
    return first is latents, rewards


def verify(out):
    assert not out[0]


TRUTH = Truth(
    fault="from the second iteration on the optimizer steps a tensor that is no longer used",
    names=("latents",),
    repair=("latents.div_(latents.std())",),
)
