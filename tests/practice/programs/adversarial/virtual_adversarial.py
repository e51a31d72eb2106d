"""VAT: the model's gradients are cleared inside the regularizer, after the supervised loss has been backpropagated."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def l2_normalize(d):
    return d / (d.flatten(1).norm(dim=1, keepdim=True) + 1e-8)


def kl(logits, log_p):
    return F.kl_div(F.log_softmax(logits, dim=1), log_p, reduction="batchmean", log_target=True)


class VATLoss(nn.Module):
    def __init__(self, xi=1.0, eps=2.0, ip=1):
        super().__init__()
        self.xi, self.eps, self.ip = xi, eps, ip

    def forward(self, model, x):
        with torch.no_grad():
            log_p = F.log_softmax(model(x), dim=1)
        d = l2_normalize(torch.rand(x.shape) - 0.5)
        for _ in range(self.ip):
            d.requires_grad_()
            kl(model(x + self.xi * d), log_p).backward()  # cause
            d = l2_normalize(d.grad)
            model.zero_grad()  # cause
        return kl(model(x + self.eps * d), log_p)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 24), nn.LeakyReLU(0.1), nn.Linear(24, 24), nn.LeakyReLU(0.1), nn.Linear(24, 3))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    vat, alpha = VATLoss(), 1.0
    before = x_ul = rng = None
    for step in range(2):
        x, y, x_ul = torch.randn(4, 6), torch.randint(0, 3, (4,)), torch.randn(8, 6)
        before, rng = copy.deepcopy(model), torch.get_rng_state()
        opt.zero_grad()
        ce = F.cross_entropy(model(x), y)
        ce.backward()  # also
        lds = vat(model, x_ul)
        (alpha * lds).backward()
        opt.step()
        print(f"step {step} ce {ce.item():.4f} lds {lds.item():.4f}")
    return model, before, x_ul, rng


def verify(out):
    model, before, x_ul, rng = out
    torch.set_rng_state(rng)
    (want,) = torch.autograd.grad(VATLoss()(before, x_ul), before[4].weight)
    assert torch.allclose(model[4].weight.grad, want)  # nothing is left of the supervised gradient


TRUTH = Truth(
    fault="the regularizer throws the supervised gradients away",
    names=("zero_grad",),
    repair=("(d.grad,) = torch.autograd.grad(kl(model(x + self.xi * d), log_p), d)", ""),
)
