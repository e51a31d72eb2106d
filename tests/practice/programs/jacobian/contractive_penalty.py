"""Contractive autoencoder: exact Jacobian by vmap(jacrev) of a functional call on detached inputs. Healthy."""
import torch
from torch import nn
from torch.func import functional_call, jacrev, vmap
from torch.nn import functional as F

from tests.practice.truth import Truth


class ContractiveAE(nn.Module):
    def __init__(self, spectrum=14, code=3):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(spectrum, 10), nn.Sigmoid(), nn.Linear(10, code))
        self.decode = nn.Linear(code, spectrum)

    def forward(self, x):
        return self.decode(self.encode(x))

    def jacobian_penalty(self, x):
        params = dict(self.encode.named_parameters())

        def code(single):
            return functional_call(self.encode, params, (single,))

        jacobian = vmap(jacrev(code))(x.detach())
        return jacobian.square().sum((1, 2)).mean()


def spectra(n):
    peaks = torch.rand(n, 1)
    axis = torch.linspace(0, 1, 14)
    return torch.exp(-((axis - peaks) / 0.15) ** 2)


def run():
    torch.manual_seed(0)
    model = ContractiveAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = spectra(32)
    (probe,) = torch.autograd.grad(model.jacobian_penalty(x), model.encode[0].weight)
    start = [p.detach().clone() for p in model.parameters()]
    losses = []
    for _ in range(4):
        reconstruction = F.mse_loss(model(x), x)
        loss = reconstruction + 0.05 * model.jacobian_penalty(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return probe, start, list(model.parameters()), losses


def verify(outcome):
    probe, start, now, losses = outcome
    assert probe.abs().sum() > 0
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert losses[-1] < losses[0]


TRUTH = Truth()
