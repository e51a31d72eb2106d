"""Serving and training in turns, healthy: inference_mode on a frozen deep copy, results cloned outside before they train, modes left alone."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Model(nn.Module):
    def __init__(self, features=6, classes=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 10, bias=False), nn.BatchNorm1d(10), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(10, classes)

    def forward(self, x):
        return self.head(self.body(x))


class Service:
    def __init__(self):
        self.model = None

    def deploy(self, model):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.model.to(torch.bfloat16)

    @torch.inference_mode()
    def score(self, x):
        return self.model(x.to(torch.bfloat16)).float().softmax(dim=-1)

    def most_uncertain(self, pool, count):
        entropy = torch.special.entr(self.score(pool)).sum(dim=-1)
        return entropy.topk(count).indices.clone()


def train_round(model, optimizer, service, x, y):
    soft = service.score(x).clone()
    model.train()
    for _ in range(2):
        optimizer.zero_grad()
        log_p = model(x).log_softmax(dim=-1)
        loss = F.nll_loss(log_p, y) + 0.1 * F.kl_div(log_p, soft, reduction="batchmean")
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model, service = Model(), Service()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    pool = torch.randn(40, 6)
    labels = pool[:, :3].argmax(dim=1)
    before = [p.detach().clone() for p in model.parameters()]
    service.deploy(model)
    for _ in range(2):
        picked = service.most_uncertain(pool, 10)
        train_round(model, optimizer, service, pool[picked], labels[picked])
        service.deploy(model)
    return before, model


def verify(outcome):
    before, model = outcome
    for old, p in zip(before, model.parameters(), strict=True):
        assert p.dtype == torch.float32 and p.requires_grad and not torch.equal(old, p.detach())
    assert model.training and model.body[1].num_batches_tracked == 4


TRUTH = Truth()
