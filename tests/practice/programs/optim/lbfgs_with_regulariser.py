"""L-BFGS: the closure clears, differentiates, and counts its calls; the smooth penalty is part of it."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Calibration(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.log_temperature = nn.Parameter(torch.zeros(()))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, logits):
        return logits / self.log_temperature.exp() + self.bias


def expected_calibration_error(probs, labels, bins=5):
    conf, pred = probs.max(1)
    hit = pred.eq(labels).float()
    ece = 0.0
    for low in torch.linspace(0, 1, bins + 1)[:-1].tolist():
        inside = (conf > low) & (conf <= low + 1 / bins)
        if inside.any():
            ece += (hit[inside].mean() - conf[inside].mean()).abs().item() * inside.float().mean().item()
    return ece


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 3).eval()
    x, y = torch.randn(64, 4), torch.randint(3, (64,))
    with torch.no_grad():
        logits = 8 * net(x)
    head = Calibration(3)
    optimizer = torch.optim.LBFGS(head.parameters(), lr=0.5, max_iter=6, history_size=4)
    calls, values = [], []

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(head(logits), y) + 1e-2 * head.bias.pow(2).sum()
        loss.backward()
        calls.append(loss.detach())
        return loss

    for _ in range(3):
        values.append(optimizer.step(closure).item())
    with torch.no_grad():
        before, after = (expected_calibration_error(z.softmax(1), y) for z in (logits, head(logits)))
    return net, head, torch.stack(calls), values, (before, after)


TRUTH = Truth()


def verify(out):
    net, head, calls, values, (before, after) = out
    assert not calls.requires_grad and len(calls) > 6 and values[-1] < values[0]
    assert all(p.grad is None for p in net.parameters()) and head.log_temperature.item() > 0
    assert after < before
