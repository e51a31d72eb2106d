"""TRADES: the inner search maximises a divergence with the clean output held fixed, the outer one lets both learn."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def trades_loss(model, x_natural, y, optimizer, step_size=0.02, epsilon=0.1, perturb_steps=3, beta=6.0):
    criterion_kl = nn.KLDivLoss(reduction="sum")
    model.eval()
    batch_size = len(x_natural)
    with torch.no_grad():
        p_natural = F.softmax(model(x_natural), dim=1)
    x_adv = x_natural.detach() + 0.001 * torch.randn(x_natural.shape).detach()
    for _ in range(perturb_steps):
        x_adv.requires_grad_()
        with torch.enable_grad():
            loss_kl = criterion_kl(F.log_softmax(model(x_adv), dim=1), p_natural)
        grad = torch.autograd.grad(loss_kl, [x_adv])[0]
        x_adv = x_adv.detach() + step_size * torch.sign(grad.detach())
        x_adv = torch.min(torch.max(x_adv, x_natural - epsilon), x_natural + epsilon)
        x_adv = torch.clamp(x_adv, 0.0, 1.0)
    model.train()
    optimizer.zero_grad()
    logits = model(x_natural)
    loss_natural = F.cross_entropy(logits, y)
    loss_robust = (1.0 / batch_size) * criterion_kl(F.log_softmax(model(x_adv), dim=1), F.softmax(logits, dim=1))
    return loss_natural + beta * loss_robust, loss_robust.item()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    robust, losses = [], []
    for epoch in range(3):
        x, y = torch.rand(8, 12), torch.randint(4, (8,))
        loss, r = trades_loss(model, x, y, optimizer)
        loss.backward()
        optimizer.step()
        robust.append(r)
        losses.append(loss.item())
    return model, robust, losses


TRUTH = Truth()


def verify(out):
    model, robust, losses = out
    assert all(r > 0 for r in robust) and all(0 < loss < 100 for loss in losses)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
