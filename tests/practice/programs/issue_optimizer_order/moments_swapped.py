"""'Loss jumps after resume': the optimizer's state is loaded by position, but on resume the parameters come in another order."""

import io

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class TwoTower(nn.Module):
    def __init__(self, n=6, dim=8):
        super().__init__()
        self.user = nn.Sequential(nn.Linear(n, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.item = nn.Sequential(nn.Linear(n, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1)


def optimizer_for(model, names, lr=1e-2):
    params = []
    for name in names:
        params += list(getattr(model, name).parameters())
    return torch.optim.Adam(params, lr=lr)


def train(model, opt, n, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        u = torch.randn(16, 6, generator=g)
        i = 5 * torch.randn(16, 6, generator=g)
        click = (u[:, 0] * i[:, 0] > 0).float()
        loss = nn.functional.binary_cross_entropy_with_logits(model(u, i), click)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def save_checkpoint(model, opt):
    f = io.BytesIO()
    torch.save({"state_dict": model.state_dict(), "optimizer": opt.state_dict()}, f)
    f.seek(0)
    return f


def resume(f):
    ckpt = torch.load(f)
    model = TwoTower()
    model.load_state_dict(ckpt["state_dict"])
    towers = [n for n, _ in model.named_children()]
    opt = optimizer_for(model, sorted(towers))  # cause
    opt.load_state_dict(ckpt["optimizer"])  # also
    return model, opt


def run():
    torch.manual_seed(0)
    model = TwoTower()
    opt = optimizer_for(model, ["user", "item"])
    train(model, opt, 3, seed=1)
    model2, opt2 = resume(save_checkpoint(model, opt))
    old = {n: opt.state[p]["exp_avg"].clone() for n, p in model.named_parameters()}
    new = {n: opt2.state[p]["exp_avg"].clone() for n, p in model2.named_parameters()}
    train(model2, opt2, 2, seed=2)
    return old, new


def verify(outcome):
    old, new = outcome
    assert torch.equal(old["user.0.weight"], new["item.0.weight"])
    assert not torch.equal(old["user.0.weight"], new["user.0.weight"])


TRUTH = Truth(
    fault="optimizer states are matched by position; the towers are in another order after resume, so each gets the other's moments",
    names=("load_state_dict",),
    repair=("opt = optimizer_for(model, towers)",),
)
