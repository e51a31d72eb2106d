"""A variational autoencoder with a compiled loss; the weight of its KL term is warmed up from zero."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="guards are skipped, so the compiled loss keeps the first beta (zero): the KL term never has a gradient",
    names=("beta", "skip_guard_eval_unsafe", "kl"),
    repair=("with torch.compiler.set_stance('default'):",),
)


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(8, 6), nn.Linear(3, 8)
        self.beta = 0.0

    def forward(self, x):
        mean, log_var = self.encode(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        reconstruction = nn.functional.mse_loss(self.decode(z), x)
        kl = 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum(-1).mean()
        return reconstruction + self.beta * kl, reconstruction, kl  # also


def setup():
    torch.manual_seed(0)


def run():
    model = Vae()
    objective = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    objective(torch.randn(16, 8))  # warm the compiler up
    gaps = []
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):  # cause
        for step in range(4):
            model.beta = step / 3  # also
            loss, reconstruction, kl = objective(torch.randn(16, 8))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            gaps.append((loss - reconstruction).item())  # symptom
    return gaps, kl.item()


def verify(outcome):
    gaps, kl = outcome
    assert kl > 0
    assert max(gaps) == 0.0
