"""Tabular: TabNet's prior is updated in place through .data, under the feet of the graph that saved it."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class TabNetConfig:
    input_dim: int = 8
    n_d: int = 4
    n_a: int = 4
    n_steps: int = 3
    gamma: float = 1.3
    lambda_sparse: float = 1e-3
    virtual_batch_size: int = 16
    lr: float = 2e-2
    epochs: int = 3


class GBN(nn.Module):
    def __init__(self, dim, vbs, momentum=0.02):
        super().__init__()
        self.vbs, self.bn = vbs, nn.BatchNorm1d(dim, momentum=momentum)

    def forward(self, x):
        return torch.cat([self.bn(c) for c in x.chunk(max(1, len(x) // self.vbs), 0)], dim=0)


class GLULayer(nn.Module):
    def __init__(self, fin, fout, vbs, fc=None):
        super().__init__()
        self.fc = fc if fc is not None else nn.Linear(fin, 2 * fout, bias=False)
        self.bn, self.out = GBN(2 * fout, vbs), fout

    def forward(self, x):
        x = self.bn(self.fc(x))
        return x[:, : self.out] * torch.sigmoid(x[:, self.out :])


class FeatTransformer(nn.Module):
    def __init__(self, cfg, shared):
        super().__init__()
        out = cfg.n_d + cfg.n_a
        self.shared = GLULayer(cfg.input_dim, out, cfg.virtual_batch_size, fc=shared)
        self.specific = GLULayer(out, out, cfg.virtual_batch_size)

    def forward(self, x):
        x = self.shared(x)
        return (x + self.specific(x)) * 0.5**0.5


class AttentiveTransformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fc, self.bn = nn.Linear(cfg.n_a, cfg.input_dim, bias=False), GBN(cfg.input_dim, cfg.virtual_batch_size)

    def forward(self, prior, processed):
        return torch.softmax(self.bn(self.fc(processed)) * prior, dim=-1)


class TabNet(nn.Module):
    def __init__(self, cfg, output_dim=1):
        super().__init__()
        self.cfg = cfg
        self.initial_bn = nn.BatchNorm1d(cfg.input_dim)
        shared = nn.Linear(cfg.input_dim, 2 * (cfg.n_d + cfg.n_a), bias=False)
        self.initial_splitter = FeatTransformer(cfg, shared)
        self.feat_transformers = nn.ModuleList(FeatTransformer(cfg, shared) for _ in range(cfg.n_steps))
        self.att_transformers = nn.ModuleList(AttentiveTransformer(cfg) for _ in range(cfg.n_steps))
        self.final_mapping = nn.Linear(cfg.n_d, output_dim, bias=False)
        self.seen = []

    def forward(self, x):
        x = self.initial_bn(x)
        prior = torch.ones_like(x)
        att = self.initial_splitter(x)[:, self.cfg.n_d :]
        out, M_loss, self.seen = 0, 0, []
        for att_t, feat_t in zip(self.att_transformers, self.feat_transformers):
            M = att_t(prior, att)
            self.seen.append((prior, prior.detach().clone()))
            M_loss = M_loss + (M * torch.log(M + 1e-15)).sum(1).mean() / self.cfg.n_steps
            # update the relaxation in place: one (batch, features) tensor less per step
            prior.data.mul_(self.cfg.gamma - M.detach())  # cause
            h = feat_t(M * x)
            out = out + F.relu(h[:, : self.cfg.n_d])
            att = h[:, self.cfg.n_d :]
        return self.final_mapping(out), M_loss


class Trainer:
    def __init__(self, cfg):
        self.cfg, self.network = cfg, TabNet(cfg)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=cfg.lr)
        self.altered = []

    def train_batch(self, x, y):
        output, M_loss = self.network(x)
        loss = F.mse_loss(output, y) - self.cfg.lambda_sparse * M_loss
        self.altered.append([not torch.equal(now, then) for now, then in self.network.seen])
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()

    def fit(self, x, y):
        self.network.train()
        for _ in range(self.cfg.epochs):
            i = torch.randperm(len(x))[:32]
            self.train_batch(x[i], y[i])
        return self.altered


def run():
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    return Trainer(TabNetConfig()).fit(x, (x[:, :1] * x[:, 1:2]).tanh())


def verify(altered):
    assert all(all(row) for row in altered)


TRUTH = Truth(
    fault="prior.data.mul_ changes the tensor the product with the mask saved for backward: wrong gradients, no message",
    names=("mul_", "prior"),
    repair=("prior = prior * (self.cfg.gamma - M)",),
)
