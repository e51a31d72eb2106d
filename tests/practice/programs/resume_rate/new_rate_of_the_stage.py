"""'My new learning rate is ignored': the second stage loads the optimizer's state, and with it the old rate."""

import io
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class PointNetCls(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.Conv1d(3, 16, 1), nn.ReLU(), nn.Conv1d(16, 32, 1), nn.ReLU())
        self.fc = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, classes))

    def forward(self, pts):
        return self.fc(self.mlp(pts).amax(-1))


def jitter(pts, sigma):
    return pts + (sigma * torch.randn_like(pts)).clamp(-0.05, 0.05)


def train(model, optimizer, steps, args):
    model.train()
    for _ in range(steps):
        label = torch.randint(0, 4, (8,))
        pts = torch.randn(8, 3, 20) * (1 + label[:, None, None] / 4)
        loss = F.cross_entropy(model(jitter(pts, args.sigma)), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def save_checkpoint(model, optimizer, epoch):
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, buffer)
    buffer.seek(0)
    return buffer


def load_checkpoint(buffer, model, optimizer, args):
    checkpoint = torch.load(buffer, weights_only=True)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])  # cause
    return checkpoint["epoch"] + 1


def main(args, checkpoint=None):
    torch.manual_seed(args.seed)
    model = PointNetCls()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
    epoch = load_checkpoint(checkpoint, model, optimizer, args) if checkpoint else 0
    before = [p.detach().clone() for p in model.parameters()]
    train(model, optimizer, 3, args)
    change = max((p.detach() - b).abs().max().item() for p, b in zip(model.parameters(), before))
    return save_checkpoint(model, optimizer, epoch), change, optimizer.param_groups[0]["lr"]


def run():
    pretraining = SimpleNamespace(lr=1e-2, sigma=0.02, seed=0)
    finetuning = SimpleNamespace(lr=1e-4, sigma=0.0, seed=1)
    checkpoint, _, _ = main(pretraining)
    _, change, lr = main(finetuning, checkpoint)
    return change, lr


def verify(outcome):
    change, lr = outcome
    assert lr == 1e-2 and change > 5e-3, outcome


TRUTH = Truth(
    fault="load_state_dict() of the optimizer overwrites the rate of its groups: args.lr has no effect",
    names=("lr",),
    minor=True,
    repair=(
        "optimizer.load_state_dict(checkpoint[\"optimizer\"])\nfor g in optimizer.param_groups:\n    g['lr'] = args.lr",
    ),
)
