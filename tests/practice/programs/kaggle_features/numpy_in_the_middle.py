"""Sales model: a numpy feature step between the encoder and the head cuts the encoder off."""

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

from tests.practice.truth import Truth


class SalesDataset(Dataset):
    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.store = rng.integers(0, 6, size=n)
        self.series = rng.normal(size=(n, 10)).astype(np.float32).cumsum(1)
        self.target = (self.series[:, -1] + self.store).astype(np.float32)

    def __len__(self):
        return len(self.store)

    def __getitem__(self, i):
        return self.store[i], self.series[i], self.target[i]


def robust_scale(a):
    """Median / IQR scaling over the batch."""
    med = np.median(a, axis=0)
    q1, q3 = np.percentile(a, [25, 75], axis=0)
    return (a - med) / (q3 - q1 + 1e-6)


class SalesModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.store_emb = nn.Embedding(6, 4)
        self.encoder = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8))
        self.head = nn.Linear(12, 1)

    def forward(self, store, series):
        z = self.encoder(series)
        z = torch.as_tensor(robust_scale(z.detach().numpy()), dtype=torch.float32)  # cause
        return self.head(torch.cat([self.store_emb(store), z], dim=1))[:, 0]


def run():
    torch.manual_seed(77)
    loader = DataLoader(SalesDataset(36), batch_size=12, shuffle=True)
    model = SalesModel()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    init = {k: v.clone() for k, v in model.state_dict().items()}
    for store, series, target in loader:
        opt.zero_grad()
        rmse = torch.sqrt(nn.functional.mse_loss(model(store, series), target))
        rmse.backward()
        opt.step()
    return {k: torch.equal(v, init[k]) for k, v in model.state_dict().items()}


def verify(same):
    assert same["encoder.0.weight"] and same["encoder.2.bias"]
    assert not same["store_emb.weight"] and not same["head.weight"]


TRUTH = Truth(
    fault="the encoder's output goes through numpy, so no gradient reaches the encoder",
    names=("encoder",),
    repair=(
        "med = z.median(0).values\nq1, q3 = torch.quantile(z, torch.tensor([0.25, 0.75]), dim=0)\nz = (z - med) / (q3 - q1 + 1e-6)",
    ),
)
