"""Domain adaptation: the reversal layer negates its gradient in place, which a sum shares with its other branch."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg_().mul_(ctx.lam), None  # cause


class DANN(nn.Module):
    def __init__(self, dim=6, hidden=8, classes=3):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.private = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.label = nn.Linear(hidden, classes)
        self.domain = nn.Linear(hidden, 2)

    def forward(self, x, lam):
        shared, private = self.shared(x), self.private(x)
        # private features should tell the domain, shared ones should not
        mixed = GradReverse.apply(shared, lam) + private
        return self.label(shared), self.domain(mixed)


def lam_at(progress):
    return 2 / (1 + torch.exp(torch.tensor(-10.0 * progress)).item()) - 1


def run():
    torch.manual_seed(0)
    model = DANN()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    alignment = []
    for step in range(3):
        source, target = torch.randn(8, 6), torch.randn(8, 6) + 1
        x, d = torch.cat([source, target]), torch.arange(2).repeat_interleave(8)
        y = source[:, :3].argmax(1)
        labels, domains = model(x, lam_at((step + 1) / 3))
        loss_y, loss_d = F.cross_entropy(labels[:8], y), F.cross_entropy(domains, d)
        opt.zero_grad()
        (loss_y + loss_d).backward()
        grad = model.private[0].bias.grad.clone()
        with torch.no_grad():  # what the domain loss asks of the private features
            p = model.domain(model.shared(x) + model.private(x)).softmax(1) - F.one_hot(d, 2)
            asked = ((p @ model.domain.weight) * (model.private(x) > 0)).mean(0)
        alignment.append(F.cosine_similarity(grad, asked, dim=0).item())
        opt.step()
        print(f"step {step} label {loss_y.item():.3f} domain {loss_d.item():.3f}")
    return alignment


def verify(out):
    assert all(a < -0.99 for a in out)


TRUTH = Truth(
    fault="a backward changes the gradient that another branch gets too",
    names=("GradReverse",),
    repair=("return -ctx.lam * grad_output, None",),
)
