"""BYOL wrapper: the hook's last output stays on the module, with its graph, when the target is deep-copied."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class NetWrapper(nn.Module):
    """Takes the representation of a layer by a hook, and puts a projector on it."""

    def __init__(self, net, layer, proj_dim=8):
        super().__init__()
        self.net, self.proj_dim = net, proj_dim
        self.projector = None
        self.hidden = None
        dict(net.named_modules())[layer].register_forward_hook(self._hook)

    def _hook(self, _module, _inp, output):
        self.hidden = output.flatten(1)  # also

    def get_representation(self, x):
        self.net(x)
        hidden = self.hidden  # cause
        return hidden

    def forward(self, x):
        h = self.get_representation(x)
        if self.projector is None:
            self.projector = nn.Sequential(nn.Linear(h.shape[1], 16), nn.ReLU(), nn.Linear(16, self.proj_dim))
        return self.projector(h)


class BYOL(nn.Module):
    def __init__(self, net, layer, image_size):
        super().__init__()
        self.online_encoder = NetWrapper(net, layer)
        self.online_encoder(torch.randn(2, 3, image_size, image_size))  # makes the projector
        self.target_encoder = copy.deepcopy(self.online_encoder).requires_grad_(False)  # symptom
        self.online_predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x):
        one, two = x + 0.1 * torch.randn_like(x), x.flip(-1)
        with torch.no_grad():
            t1, t2 = self.target_encoder(one), self.target_encoder(two)
        p1, p2 = (self.online_predictor(self.online_encoder(v)) for v in (one, two))
        return -(F.cosine_similarity(p1, t2) + F.cosine_similarity(p2, t1)).mean()


def run():
    torch.manual_seed(0)
    net = nn.Sequential()
    net.add_module("stem", nn.Conv2d(3, 8, 3, 2))
    net.add_module("avgpool", nn.AdaptiveAvgPool2d(1))
    net.add_module("fc", nn.Sequential(nn.Flatten(), nn.Linear(8, 10)))
    learner = BYOL(net, "avgpool", image_size=8)
    opt = torch.optim.Adam([p for p in learner.parameters() if p.requires_grad], lr=3e-4)
    for _ in range(2):
        loss = learner(torch.randn(4, 3, 8, 8))
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    fault="a tensor with a graph is an attribute of the module that is copied",
    raises="Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
    names=("hidden",),
    repair=("hidden, self.hidden = self.hidden, None",),
)
