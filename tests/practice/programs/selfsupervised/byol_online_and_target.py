"""BYOL: the target net is made at the first call, gets no gradient, and follows the online net after each step."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def singleton(attribute):
    def decorate(fn):
        def inner(self, *args):
            if getattr(self, attribute) is None:
                setattr(self, attribute, fn(self, *args))
            return getattr(self, attribute)

        return inner

    return decorate


class EMA:
    def __init__(self, beta):
        self.beta = beta

    def update_average(self, old, new):
        return new if old is None else old * self.beta + (1 - self.beta) * new


class BYOL(nn.Module):
    def __init__(self, net, dim):
        super().__init__()
        self.online_encoder = net
        self.online_predictor = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, dim))
        self.target_encoder = None
        self.target_ema_updater = EMA(0.99)

    @singleton("target_encoder")
    def _get_target_encoder(self):
        target_encoder = copy.deepcopy(self.online_encoder)
        for p in target_encoder.parameters():
            p.requires_grad = False
        return target_encoder

    def update_moving_average(self):
        for current, ma in zip(self.online_encoder.parameters(), self.target_encoder.parameters()):
            ma.data = self.target_ema_updater.update_average(ma.data, current.data)

    def forward(self, one, two):
        p1, p2 = (self.online_predictor(self.online_encoder(x)) for x in (one, two))
        with torch.no_grad():
            target_encoder = self._get_target_encoder()
            z1 = target_encoder(one).detach_()
            z2 = target_encoder(two).detach_()
        return (2 - F.cosine_similarity(p1, z2) + 2 - F.cosine_similarity(p2, z1)).mean()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 8))
    learner = BYOL(net, 8)
    learner(torch.randn(2, 3, 4), torch.randn(2, 3, 4))
    opt = torch.optim.Adam([p for p in learner.parameters() if p.requires_grad], lr=3e-4)
    losses = []
    for _ in range(3):
        images = torch.randn(6, 3, 4)
        loss = learner(images + 0.1 * torch.randn_like(images), images.flip(2))
        opt.zero_grad()
        loss.backward()
        opt.step()
        learner.update_moving_average()
        losses.append(loss.item())
    return learner, losses


TRUTH = Truth()


def verify(out):
    learner, losses = out
    assert all(p.grad is None for p in learner.target_encoder.parameters())
    assert not torch.equal(learner.target_encoder[1].weight, learner.online_encoder[1].weight)
    assert all(p.grad is not None for p in learner.online_encoder.parameters())
    assert all(0 <= loss <= 8 for loss in losses)
