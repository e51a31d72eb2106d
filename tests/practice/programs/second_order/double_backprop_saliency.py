"""Right for the right reasons: a penalty on input gradients where a mask forbids them; the input itself stores none."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def input_gradients(model, x):
    x = x.clone().requires_grad_(True)
    logp = F.log_softmax(model(x), dim=1)
    (g,) = torch.autograd.grad(logp.sum(), x, create_graph=True)
    return logp, g


class RRRLoss(nn.Module):
    def __init__(self, strength):
        super().__init__()
        self.strength = strength

    def forward(self, logp, g, y, forbidden):
        answers = F.nll_loss(logp, y)
        reasons = (forbidden * g).pow(2).sum(1).mean()
        with torch.no_grad():
            ratio = (answers / reasons.clamp(min=1e-8)).item()
        return answers + min(self.strength, 0.1 * ratio) * reasons, reasons.item()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Softplus(beta=5), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = RRRLoss(10.0)
    forbidden = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    log = []
    for _ in range(4):
        y = torch.randint(2, (16,))
        x = torch.randn(16, 6)
        x[:, 0] += y
        x[:, 5] += 3 * y
        logp, g = input_gradients(model, x)
        loss, reasons = criterion(logp, g, y, forbidden)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append((loss.item(), reasons))
    model.eval()
    with torch.enable_grad():
        _, g = input_gradients(model, x)
    return model, log, g.detach().abs().mean(0).numpy(), x


TRUTH = Truth()


def verify(out):
    model, log, saliency, x = out
    assert x.grad is None and not x.requires_grad and (saliency > 0).all()
    assert all(p.grad is not None for p in model.parameters()) and all(0 < a < 100 for a, _ in log)
