"""Tabular: NODE's thresholds are set through .data from the first batch (healthy)."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class NodeConfig:
    in_features: int = 6
    num_trees: int = 5
    depth: int = 3
    tree_dim: int = 2
    num_layers: int = 2
    lr: float = 1e-2
    threshold_init_beta: float = 1.0
    freq_eval: int = 2
    steps: int = 4


def sparsemax(z, dim):
    z = z - z.max(dim=dim, keepdim=True).values
    s, _ = z.sort(dim=dim, descending=True)
    shape = [1] * z.ndim
    shape[dim] = -1
    k = torch.arange(1, z.size(dim) + 1, dtype=z.dtype).view(shape)
    support = 1 + k * s > s.cumsum(dim)
    count = support.sum(dim=dim, keepdim=True)
    tau = ((s * support).sum(dim=dim, keepdim=True) - 1) / count
    return torch.clamp(z - tau, min=0)


def sparsemoid(x):
    return (0.5 * x + 0.5).clamp(0, 1)


class ODST(nn.Module):
    def __init__(self, in_features, cfg):
        super().__init__()
        self.cfg, T, D = cfg, cfg.num_trees, cfg.depth
        self.response = nn.Parameter(torch.randn(T, cfg.tree_dim, 2**D))
        self.feature_selection_logits = nn.Parameter(torch.rand(in_features, T, D))
        self.feature_thresholds = nn.Parameter(torch.full((T, D), float("nan")))
        self.log_temperatures = nn.Parameter(torch.full((T, D), float("nan")))
        codes = (torch.arange(2**D)[None] // 2 ** torch.arange(D)[:, None]) % 2
        self.register_buffer("bin_codes", torch.stack([codes, 1 - codes], -1).float())
        self.register_buffer("initialized", torch.tensor(False))

    def initialize(self, x):
        with torch.no_grad():
            sel = sparsemax(self.feature_selection_logits, 0)
            values = torch.einsum("bi,int->bnt", x, sel)
            q = torch.distributions.Beta(self.cfg.threshold_init_beta, self.cfg.threshold_init_beta)
            q = q.sample(self.feature_thresholds.shape)
            ranks = (q * (len(x) - 1)).long()
            order = values.sort(0).values
            self.feature_thresholds.data[...] = order.gather(0, ranks[None])[0]
            spread = (values - self.feature_thresholds).abs().amax(0)
            self.log_temperatures.data[...] = torch.log(spread + 1e-3)
            self.initialized.fill_(True)

    def forward(self, x):
        if not self.initialized:
            self.initialize(x)
        sel = sparsemax(self.feature_selection_logits, 0)
        values = torch.einsum("bi,int->bnt", x, sel)
        logits = (values - self.feature_thresholds) * torch.exp(-self.log_temperatures)
        bins = sparsemoid(torch.stack([-logits, logits], dim=-1))
        match = torch.einsum("bnts,tcs->bntc", bins, self.bin_codes)
        return torch.einsum("bnc,ndc->bnd", match.prod(dim=2), self.response).flatten(1)


class DenseBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        width = cfg.num_trees * cfg.tree_dim
        self.layers = nn.ModuleList(ODST(cfg.in_features + i * width, cfg) for i in range(cfg.num_layers))

    def forward(self, x):
        outs = []
        for layer in self.layers:
            outs.append(layer(torch.cat([x, *outs], dim=1)))
        return torch.cat(outs, dim=1).mean(dim=1)


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    mse = F.mse_loss(model(x), y).item()
    model.train()
    return mse


def run():
    torch.manual_seed(0)
    cfg = NodeConfig()
    model = DenseBlock(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr, betas=(0.95, 0.998))
    x = torch.randn(128, cfg.in_features)
    y = x[:, 0] * x[:, 1] + x[:, 2]
    evaluate(model, x, y)  # also initializes the thresholds
    before = [p.detach().clone() for p in model.parameters()]
    mse = []
    for step in range(cfg.steps):
        rows = torch.randint(len(x), (64,))
        loss = F.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if (step + 1) % cfg.freq_eval == 0:
            mse.append(evaluate(model, x, y))
    return before, [p.detach() for p in model.parameters()], mse


def verify(outcome):
    before, after, mse = outcome
    assert all(torch.isfinite(a).all() and not torch.equal(b, a) for b, a in zip(before, after))
    assert mse[-1] < mse[0]


TRUTH = Truth()
