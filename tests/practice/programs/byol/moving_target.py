"""BYOL: the moving average binds a name in the loop, and the target network never changes."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EMA:
    def __init__(self, beta):
        self.beta = beta

    def update_average(self, old, new):
        return old * self.beta + (1 - self.beta) * new


def update_moving_average(ema_updater, ma_model, current_model):
    for current_params, ma_params in zip(current_model.parameters(), ma_model.parameters()):
        old_weight, up_weight = ma_params.data, current_params.data
        ma_weight = ema_updater.update_average(old_weight, up_weight)
        old_weight = ma_weight  # cause


def mlp(dim, hidden, out):
    return nn.Sequential(nn.Linear(dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True), nn.Linear(hidden, out))


def loss_fn(x, y):
    return 2 - 2 * (F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(dim=-1)


def augment(x):
    flip = torch.rand(len(x)) < 0.5
    x = torch.where(flip[:, None, None, None], x.flip(3), x)
    return x + 0.2 * torch.randn_like(x)


class BYOL(nn.Module):
    def __init__(self, net, hidden=8, projection=6, moving_average_decay=0.9):
        super().__init__()
        self.online_encoder = nn.Sequential(net, mlp(hidden, 16, projection))
        self.target_encoder = copy.deepcopy(self.online_encoder)
        self.target_encoder.requires_grad_(False)
        self.target_ema_updater = EMA(moving_average_decay)
        self.online_predictor = mlp(projection, 16, projection)

    def update_moving_average(self):
        update_moving_average(self.target_ema_updater, self.target_encoder, self.online_encoder)

    def forward(self, x):
        one, two = augment(x), augment(x)
        predictions = self.online_predictor(self.online_encoder(torch.cat((one, two))))
        with torch.no_grad():
            targets = self.target_encoder(torch.cat((one, two))).detach()
        pred_one, pred_two = predictions.chunk(2)
        target_one, target_two = targets.chunk(2)
        return (loss_fn(pred_one, target_two) + loss_fn(pred_two, target_one)).mean()


def resnet_tiny():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, 2, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


def run():
    torch.manual_seed(0)
    learner = BYOL(resnet_tiny())
    opt = torch.optim.Adam([p for p in learner.parameters() if p.requires_grad], lr=3e-3)
    start = [p.clone() for p in learner.target_encoder.parameters()]
    for _ in range(3):
        loss = learner(torch.randn(6, 3, 8, 8))
        opt.zero_grad()
        loss.backward()
        opt.step()
        learner.update_moving_average()
    return [torch.equal(s, p) for s, p in zip(start, learner.target_encoder.parameters())]


def verify(outcome):
    assert all(outcome), outcome


TRUTH = Truth(
    fault="the average is bound to a local name, not written into ma_params: the target stays at its initial weights",
    names=("target_encoder", "ma_weight"),
    repair=("ma_params.data = ma_weight",),
)
