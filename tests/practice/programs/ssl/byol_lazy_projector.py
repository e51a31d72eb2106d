"""Self-supervised: the projector is built at the first forward, after the optimizer took the learner's parameters."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def mlp(dim, projection_size, hidden_size=32):
    return nn.Sequential(
        nn.Linear(dim, hidden_size),
        nn.BatchNorm1d(hidden_size),
        nn.ReLU(inplace=True),
        nn.Linear(hidden_size, projection_size),
    )


class NetWrapper(nn.Module):
    def __init__(self, net, projection_size, layer):
        super().__init__()
        self.net = net
        self.projection_size = projection_size
        self.projector = None
        self.hidden = None
        getattr(net, layer).register_forward_hook(self._hook)

    def _hook(self, _, __, output):
        self.hidden = output.flatten(1)

    def _get_projector(self, hidden):
        if self.projector is None:
            self.projector = mlp(hidden.shape[1], self.projection_size)
        return self.projector

    def forward(self, x):
        self.net(x)
        hidden, self.hidden = self.hidden, None
        return self._get_projector(hidden)(hidden)


class BYOL(nn.Module):
    def __init__(self, net, layer="pool", projection_size=8, tau=0.9):
        super().__init__()
        self.online_encoder = NetWrapper(net, projection_size, layer)
        self.target = [None]
        self.tau = tau
        self.online_predictor = mlp(projection_size, projection_size)

    @torch.no_grad()
    def target_encoder(self):
        if self.target[0] is None:
            net = copy.deepcopy(self.online_encoder.net)
            net.pool._forward_hooks.clear()
            target = NetWrapper(net, self.online_encoder.projection_size, "pool")
            target.projector = copy.deepcopy(self.online_encoder.projector)
            self.target[0] = target.requires_grad_(False)
        return self.target[0]

    @torch.no_grad()
    def update_moving_average(self):
        for t, p in zip(self.target_encoder().parameters(), self.online_encoder.parameters()):
            t.mul_(self.tau).add_(p, alpha=1 - self.tau)

    def forward(self, one, two):
        images = torch.cat((one, two), dim=0)
        online_pred = self.online_predictor(self.online_encoder(images))
        p1, p2 = online_pred.chunk(2)
        with torch.no_grad():
            t1, t2 = self.target_encoder()(images).detach().chunk(2)
        loss = (2 - 2 * F.cosine_similarity(p1, t2)) + (2 - 2 * F.cosine_similarity(p2, t1))
        return loss.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        return self.fc(self.pool(F.relu(self.conv(x))).flatten(1))


def augment(x):
    return x.flip(-1) + 0.1 * torch.randn_like(x)


def run():
    torch.manual_seed(3)
    learner = BYOL(Net())
    opt = torch.optim.Adam(learner.parameters(), lr=1e-2)  # cause
    history = []
    for _ in range(3):
        images = torch.rand(8, 3, 8, 8)
        loss = learner(augment(images), augment(images))
        opt.zero_grad()
        loss.backward()
        opt.step()
        learner.update_moving_average()
        history.append({n: p.detach().clone() for n, p in learner.online_encoder.named_parameters()})
    return history


def verify(history):
    first, last = history[0], history[-1]
    assert torch.equal(first["projector.0.weight"], last["projector.0.weight"])
    assert not torch.equal(first["net.conv.weight"], last["net.conv.weight"])


TRUTH = Truth(
    fault="the lazily built projector is in no optimizer",
    names=("projector",),
    repair=(
        "learner(torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8))\nopt = torch.optim.Adam(learner.parameters(), lr=1e-2)",
    ),
)
