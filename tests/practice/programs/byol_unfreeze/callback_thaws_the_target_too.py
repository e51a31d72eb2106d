"""BYOL: the callback that ends the warm-up thaws every parameter of the module, the target network's among them."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def mlp(cin, hidden, cout):
    return nn.Sequential(nn.Linear(cin, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, cout))


class BYOL(nn.Module):
    def __init__(self, backbone, dim=16, proj=8, tau=0.95):
        super().__init__()
        self.backbone = backbone
        self.projector = mlp(dim, 24, proj)
        self.predictor = mlp(proj, 24, proj)
        self.target_backbone = copy.deepcopy(self.backbone).requires_grad_(False)
        self.target_projector = copy.deepcopy(self.projector).requires_grad_(False)
        self.tau = tau

    def online(self, x):
        return self.predictor(self.projector(self.backbone(x)))

    def target(self, x):
        return self.target_projector(self.target_backbone(x))

    def forward(self, x1, x2):
        p1, p2 = self.online(x1), self.online(x2)
        z1, z2 = self.target(x1), self.target(x2)
        return 2 - F.cosine_similarity(p1, z2).mean() - F.cosine_similarity(p2, z1).mean()

    @torch.no_grad()
    def update_target(self):
        for o, t in ((self.backbone, self.target_backbone), (self.projector, self.target_projector)):
            for po, pt in zip(o.parameters(), t.parameters()):
                pt.mul_(self.tau).add_(po, alpha=1 - self.tau)


class BackboneFinetuning:
    """Train the heads on a pretrained backbone first, then everything."""

    def __init__(self, unfreeze_at_epoch=1):
        self.unfreeze_at_epoch = unfreeze_at_epoch

    def on_fit_start(self, model):
        model.backbone.requires_grad_(False)

    def on_epoch_start(self, model, epoch):
        if epoch == self.unfreeze_at_epoch:
            model.requires_grad_(True)  # cause


def augment(x):
    return x + 0.2 * torch.randn_like(x)


def run():
    torch.manual_seed(0)
    model = BYOL(nn.Sequential(nn.Linear(10, 16), nn.ReLU()))
    callback = BackboneFinetuning()
    callback.on_fit_start(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    seen = []
    for epoch in range(2):
        callback.on_epoch_start(model, epoch)
        for _ in range(2):
            x = torch.randn(12, 10)
            loss = model(augment(x), augment(x))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.update_target()
            seen.append(sum(p.grad is not None for p in model.target_projector.parameters()))
    return seen


def verify(outcome):
    assert outcome[:2] == [0, 0]
    assert outcome[2] > 0 and outcome[3] > 0


TRUTH = Truth(
    fault="requires_grad_(True) on the whole module thaws the target network: it gets gradients and the optimizer steps it beside its average",
    names=("target_projector", "target_backbone"),
    repair=("model.backbone.requires_grad_(True)",),
)
