"""Vision: Lookahead remembers the random weights of before the checkpoint was loaded and pulls the model back to them."""

import os
import tempfile
from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class PatchNet(nn.Module):
    def __init__(self, dim=16, classes=5):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, 4, stride=4)
        self.mix = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU())
        self.fc = nn.Linear(dim, classes)

    def forward(self, x):
        h = self.patch(x).flatten(2).transpose(1, 2)
        return self.fc((h + self.mix(h)).mean(1))


class Lookahead:
    """k steps forward, one step back."""

    def __init__(self, base, k=2, alpha=0.5):
        self.base, self.k, self.alpha = base, k, alpha
        self.counter = 0
        self.slow = defaultdict(dict)
        for gi, group in enumerate(base.param_groups):
            for pi, p in enumerate(group["params"]):
                self.slow[gi][pi] = p.detach().clone()

    def zero_grad(self):
        self.base.zero_grad()

    @torch.no_grad()
    def step(self):
        self.base.step()
        self.counter += 1
        if self.counter % self.k:
            return
        for gi, group in enumerate(self.base.param_groups):
            for pi, p in enumerate(group["params"]):
                slow = self.slow[gi][pi]
                slow.add_(p - slow, alpha=self.alpha)
                p.copy_(slow)


def create(cfg):
    model = PatchNet()
    optimizer = Lookahead(torch.optim.SGD(model.parameters(), lr=cfg["lr"]), k=cfg["k"])
    return model, optimizer


def pretrain(path):
    torch.manual_seed(7)
    model = PatchNet()
    for p in model.parameters():
        p.data.mul_(2.0)
    torch.save({"state_dict": model.state_dict()}, path)


def resume(model, path):
    model.load_state_dict(torch.load(path, weights_only=True)["state_dict"])


def run():
    cfg = {"lr": 1e-4, "k": 2}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pretrained.pt")
        pretrain(path)
        torch.manual_seed(0)
        model, optimizer = create(cfg)  # cause
        resume(model, path)  # also
    loaded = {k: v.clone() for k, v in model.state_dict().items()}
    drift = []
    for _ in range(3):
        x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 5, (8,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        drift.append((model.patch.weight - loaded["patch.weight"]).norm().item())
    return drift


def verify(outcome):
    first, second, _ = outcome
    assert first < 0.01
    assert second > 1.0


TRUTH = Truth(
    fault="Lookahead copied its slow weights before load_state_dict: the pretrained weights are averaged with the random ones",
    names=("slow", "Lookahead"),
    repair=(
        "model, _ = create(cfg)\nresume(model, path)\noptimizer = Lookahead(torch.optim.SGD(model.parameters(), lr=cfg['lr']), k=cfg['k'])",
    ),
)
