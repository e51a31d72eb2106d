"""PGD training: the attack takes gradients of the image alone, in eval mode, so that nothing lands on the weights."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def pgd(model, x, y, eps=0.1, alpha=0.03, iters=3):
    was_training = model.training
    model.eval()
    adv = x.clone().detach() + torch.empty_like(x).uniform_(-eps, eps)
    adv = torch.clamp(adv, 0, 1)
    for _ in range(iters):
        adv.requires_grad_()
        with torch.enable_grad():
            loss = F.cross_entropy(model(adv), y)
        grad = torch.autograd.grad(loss, [adv])[0]
        adv = adv.detach() + alpha * torch.sign(grad.detach())
        adv = torch.min(torch.max(adv, x - eps), x + eps)
        adv = torch.clamp(adv, 0.0, 1.0)
    model.train(was_training)
    return adv.detach()


@torch.no_grad()
def robust_accuracy(model, x, y):
    model.eval()
    correct = (model(pgd(model, x, y)).argmax(1) == y).float().mean().item()
    model.train()
    return correct


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    grads_after_attack, acc = [], []
    for _ in range(2):
        x, y = torch.rand(8, 1, 6, 6), torch.randint(3, (8,))
        optimizer.zero_grad()
        adv = pgd(model, x, y)
        grads_after_attack.append([p.grad for p in model.parameters()])
        loss = F.cross_entropy(model(adv), y)
        loss.backward()
        optimizer.step()
        acc.append(robust_accuracy(model, x, y))
    return model, grads_after_attack, acc, loss.item()


TRUTH = Truth()


def verify(out):
    model, grads, acc, loss = out
    assert all(g is None for step in grads for g in step)
    assert all(p.grad is not None for p in model.parameters()) and model.training
    assert 0 < loss < 100
