import copy

import torch
from torch import nn
import torch.nn.functional as F


def mlp(dim, hidden, out):
    return nn.Sequential(nn.Linear(dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True), nn.Linear(hidden, out))


def loss_fn(x, y):
    x = F.normalize(x, dim=-1)
    y = F.normalize(y, dim=-1)
    return 2 - 2 * (x * y).sum(dim=-1)


class EMA:
    def __init__(self, beta):
        self.beta = beta

    def update_average(self, old, new):
        return old * self.beta + (1 - self.beta) * new


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online_encoder = mlp(12, 16, 8)
        self.online_predictor = mlp(8, 16, 8)
        self.target_encoder = copy.deepcopy(self.online_encoder)
        for p in self.target_encoder.parameters():
            p.requires_grad = False
        self.ema = EMA(0.99)

    def update_moving_average(self):
        for current, target in zip(self.online_encoder.parameters(), self.target_encoder.parameters()):
            target.data = self.ema.update_average(target.data, current.data)

    def forward(self, x1, x2):
        online_pred_one = self.online_predictor(self.online_encoder(x1))
        online_pred_two = self.online_predictor(self.online_encoder(x2))
        with torch.no_grad():
            target_one = self.target_encoder(x1)
            target_two = self.target_encoder(x2)
        loss_one = loss_fn(online_pred_one, target_two.detach())
        loss_two = loss_fn(online_pred_two, target_one.detach())
        return (loss_one + loss_two).mean()


def run():
    learner = BYOL()
    params = [p for p in learner.parameters() if p.requires_grad]
    opt = torch.optim.SGD(params, lr=0.05, momentum=0.9)
    for _ in range(4):
        images = torch.randn(8, 12)
        loss = learner(images + 0.1 * torch.randn_like(images), images + 0.1 * torch.randn_like(images))
        opt.zero_grad()
        loss.backward()
        opt.step()
        learner.update_moving_average()
    return learner
