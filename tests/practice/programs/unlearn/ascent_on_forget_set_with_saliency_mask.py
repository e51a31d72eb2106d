"""Machine unlearning: gradient ascent on the forget set and descent on the rest share one .grad; a saliency mask silences most weights."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


def saliency_mask(model, x, y, keep=0.3):
    model.zero_grad(set_to_none=True)
    F.cross_entropy(model(x), y).neg().backward()
    scores = torch.cat([p.grad.abs().flatten() for p in model.parameters()])
    cut = scores.quantile(1 - keep)
    mask = {n: (p.grad.abs() >= cut).float() for n, p in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    return mask


class Unlearner:
    def __init__(self, model, mask, lr):
        self.model, self.mask = model, mask
        self.opt = torch.optim.SGD(
            model.parameters(), lr=lr, momentum=0.9
        )  # no weight decay: it would move masked weights
        self.original = copy.deepcopy(model).eval().requires_grad_(False)
        self.log = []

    def step(self, forget, retain):
        before = {n: p.detach().clone() for n, p in self.model.named_parameters()}
        self.opt.zero_grad(set_to_none=True)
        (-0.5 * F.cross_entropy(self.model(forget[0]), forget[1])).backward()
        logits = self.model(retain[0])
        with torch.no_grad():
            anchor = self.original(retain[0]).log_softmax(1)
        (
            F.cross_entropy(logits, retain[1])
            + F.kl_div(logits.log_softmax(1), anchor, log_target=True, reduction="batchmean")
        ).backward()
        with torch.no_grad():
            for n, p in self.model.named_parameters():
                p.grad *= self.mask[n]
        self.log.append((before, forget, retain, {n: p.grad.clone() for n, p in self.model.named_parameters()}))
        self.opt.step()


def batch(shift):
    return torch.randn(8, 4) + shift, torch.randint(3, (8,))


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 12), nn.GELU(), nn.Linear(12, 3))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        x, y = batch(0.0)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    mask = saliency_mask(model, *batch(1.0))
    u = Unlearner(model, mask, 0.1)
    for _ in range(3):
        u.step(batch(1.0), batch(-1.0))
    return u


def verify(u):
    twin = copy.deepcopy(u.original).requires_grad_(True)
    names = [n for n, _ in twin.named_parameters()]
    velocity = {n: 0 for n in names}
    for before, (fx, fy), (rx, ry), grads in u.log:
        twin.load_state_dict(before)
        lp, base = twin(rx).log_softmax(1), u.original(rx).log_softmax(1)
        loss = (
            0.5 * twin(fx).log_softmax(1)[range(8), fy].mean()
            - lp[range(8), ry].mean()
            + (base.exp() * (base - lp)).sum(1).mean()
        )
        for n, g in zip(names, torch.autograd.grad(loss, list(twin.parameters()))):
            assert torch.allclose(g * u.mask[n], grads[n], atol=1e-6)
            velocity[n] = 0.9 * velocity[n] + grads[n]
        end = {n: before[n] - 0.1 * velocity[n] for n in names}
    for n, p in u.model.named_parameters():
        old, mask = u.original.get_parameter(n), u.mask[n].bool()
        assert torch.allclose(p, end[n], atol=1e-6) and torch.equal(p[~mask], old[~mask])
        assert not mask.any() or (p[mask] != old[mask]).any()
    assert 0.2 < torch.cat([m.flatten() for m in u.mask.values()]).mean() < 0.4


TRUTH = Truth()
