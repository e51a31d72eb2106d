"""VQ-VAE with an EMA codebook: the averages are updated in every forward, those of validation too."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class VectorQuantizerEMA(nn.Module):
    def __init__(self, n_embed=8, dim=4, decay=0.9, eps=1e-5):
        super().__init__()
        self.n_embed, self.decay, self.eps = n_embed, decay, eps
        embed = torch.randn(n_embed, dim)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.ones(n_embed))
        self.register_buffer("embed_avg", embed.clone())

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        codes = torch.cdist(flat, self.embed).argmin(1)
        quantize = F.embedding(codes, self.embed).view_as(z)
        if not torch.jit.is_scripting():  # cause
            self._update(flat.detach(), F.one_hot(codes, self.n_embed).float())  # also
        commit = (quantize.detach() - z).pow(2).mean()
        return z + (quantize - z).detach(), commit

    @torch.no_grad()
    def _update(self, flat, onehot):
        self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.embed_avg.mul_(self.decay).add_(onehot.T @ flat, alpha=1 - self.decay)
        n = self.cluster_size.sum()
        size = (self.cluster_size + self.eps) / (n + self.n_embed * self.eps) * n
        self.embed.copy_(self.embed_avg / size.unsqueeze(1))


class VQModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 4))
        self.quantize = VectorQuantizerEMA()
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x):
        q, commit = self.quantize(self.encoder(x))
        return self.decoder(q), commit


def train_one_epoch(model, optimizer, loader):
    model.train()
    for x in loader:
        recon, commit = model(x)
        loss = F.mse_loss(recon, x) + 0.25 * commit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    return sum(F.mse_loss(model(x)[0], x).item() for x in loader) / len(loader)


def run():
    torch.manual_seed(0)
    model = VQModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train = [torch.randn(16, 10) for _ in range(2)]
    held_out = [torch.randn(16, 10) + 1.0 for _ in range(2)]
    drift = []
    for _ in range(2):
        train_one_epoch(model, optimizer, train)
        before = model.quantize.embed.clone()
        validate(model, held_out)
        drift.append((model.quantize.embed - before).abs().max().item())
    return drift


def verify(outcome):
    assert all(d > 0 for d in outcome)


TRUTH = Truth(
    fault="the codebook's averages are updated whatever the mode is: validation batches move the embedding",
    names=("embed",),
    minor=True,  # Some averages follow all that a model is shown.
    repair=("if self.training:",),
)
