"""Virtual adversarial training: a power iteration by backward() whose traces on the weights are cleared each time."""

import contextlib

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


@contextlib.contextmanager
def disable_tracking_bn_stats(model):
    def switch_attr(m):
        if hasattr(m, "track_running_stats"):
            m.track_running_stats ^= True

    model.apply(switch_attr)
    yield
    model.apply(switch_attr)


def l2_normalize(d):
    d_reshaped = d.view(d.shape[0], -1)
    d /= torch.norm(d_reshaped, dim=1, keepdim=True) + 1e-8
    return d


class VATLoss(nn.Module):
    def __init__(self, xi=10.0, eps=1.0, ip=1):
        super().__init__()
        self.xi, self.eps, self.ip = xi, eps, ip

    def forward(self, model, x):
        with torch.no_grad():
            pred = F.softmax(model(x), dim=1)
        d = l2_normalize(torch.rand(x.shape).sub(0.5))
        with disable_tracking_bn_stats(model):
            for _ in range(self.ip):
                d.requires_grad_()
                logp_hat = F.log_softmax(model(x + self.xi * d), dim=1)
                adv_distance = F.kl_div(logp_hat, pred, reduction="batchmean")
                adv_distance.backward()
                d = l2_normalize(d.grad.clone())
                model.zero_grad()
            logp_hat = F.log_softmax(model(x + d * self.eps), dim=1)
            return F.kl_div(logp_hat, pred, reduction="batchmean")


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16, bias=False), nn.BatchNorm1d(16), nn.LeakyReLU(0.1), nn.Linear(16, 3))
    vat_loss = VATLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    log = []
    for _ in range(3):
        x_l, y_l, x_ul = torch.randn(8, 8), torch.randint(3, (8,)), torch.randn(8, 8)
        optimizer.zero_grad()
        lds = vat_loss(model, x_ul)
        classification_loss = F.cross_entropy(model(x_l), y_l)
        loss = classification_loss + 1.0 * lds
        loss.backward()
        optimizer.step()
        log.append((classification_loss.item(), lds.item()))
    return model, log


TRUTH = Truth()


def verify(out):
    model, log = out
    assert all(lds > 0 for _, lds in log)
    assert model[1].track_running_stats and all(p.grad.abs().sum() > 0 for p in model.parameters())
