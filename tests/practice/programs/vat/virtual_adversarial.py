"""Virtual adversarial training: backward is called for the direction, the weights' gradients are dropped, BatchNorm is held still; all right."""

import contextlib

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


@contextlib.contextmanager
def _disable_tracking_bn_stats(model):
    def switch_attr(m):
        if hasattr(m, "track_running_stats"):
            m.track_running_stats ^= True

    model.apply(switch_attr)
    yield
    model.apply(switch_attr)


def _l2_normalize(d):
    norm = d.flatten(1).norm(dim=1).view(-1, *([1] * (d.dim() - 1)))
    return d / (norm + 1e-8)


class VATLoss(nn.Module):
    def __init__(self, xi=10.0, eps=1.0, ip=2):
        super().__init__()
        self.xi, self.eps, self.ip = xi, eps, ip

    def forward(self, model, x):
        with torch.no_grad():
            pred = F.softmax(model(x), dim=1)
        d = _l2_normalize(torch.rand(x.shape).sub(0.5))
        with _disable_tracking_bn_stats(model):
            for _ in range(self.ip):
                d.requires_grad_()
                logp_hat = F.log_softmax(model(x + self.xi * d), dim=1)
                adv_distance = F.kl_div(logp_hat, pred, reduction="batchmean")
                adv_distance.backward()
                d = _l2_normalize(d.grad)
                model.zero_grad()
            r_adv = d * self.eps
            logp_hat = F.log_softmax(model(x + r_adv), dim=1)
            return F.kl_div(logp_hat, pred, reduction="batchmean")


class ConvSmall(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 6, 3, bias=False), nn.BatchNorm2d(6)
        self.conv2, self.bn2 = nn.Conv2d(6, 8, 3, bias=False), nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = F.leaky_relu(self.bn1(self.conv1(x)), 0.1)
        x = F.leaky_relu(self.bn2(self.conv2(x)), 0.1)
        return self.fc(x.mean((2, 3)))


def run():
    torch.manual_seed(0)
    model, vat_loss = ConvSmall(), VATLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    start = [p.detach().clone() for p in model.parameters()]
    model.train()
    right = []
    for _ in range(3):
        x_l, y_l, x_ul = torch.randn(6, 1, 8, 8), torch.randint(0, 4, (6,)), torch.randn(8, 1, 8, 8)
        optimizer.zero_grad()
        # the adversarial loss comes first: it clears the gradients on its way
        lds = vat_loss(model, x_ul)
        classification = F.cross_entropy(model(x_l), y_l)
        loss = classification + 1.0 * lds
        wanted = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
        loss.backward()
        right.append(all(torch.equal(w, p.grad) for w, p in zip(wanted, model.parameters())))
        optimizer.step()
    moved = all(not torch.equal(s, p) for s, p in zip(start, model.parameters()))
    return right, moved, model.bn1.num_batches_tracked.item(), model.bn1.track_running_stats


def verify(outcome):
    assert outcome == ([True, True, True], True, 6, True), outcome


TRUTH = Truth()
