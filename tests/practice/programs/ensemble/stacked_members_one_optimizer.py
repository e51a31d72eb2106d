"""Deep ensemble by stack_module_state and vmap: the members on 'meta' are only a skeleton, the stacked leaves train."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call, stack_module_state, vmap
from tests.practice.truth import Truth

MEMBERS = 4


class Member(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 2))

    def forward(self, x):
        mean, log_var = self.net(x).unbind(-1)
        return mean, log_var.clamp(-5, 5)


def make_members():
    torch.manual_seed(0)
    return [Member() for _ in range(MEMBERS)]


class Ensemble:
    def __init__(self, members):
        self.params, self.buffers = stack_module_state(members)
        self.params = {k: v.detach().requires_grad_() for k, v in self.params.items()}
        self.skeleton = copy.deepcopy(members[0]).to("meta")

    def __call__(self, x, per_member):
        def one(params, buffers, x):
            return functional_call(self.skeleton, (params, buffers), (x,))

        return vmap(one, in_dims=(0, 0, 0 if per_member else None))(self.params, self.buffers, x)


def nll(mean, log_var, y):
    return 0.5 * (log_var + (y - mean).square() / log_var.exp())


def bootstraps():
    g = torch.Generator().manual_seed(5)
    x = torch.randn(30, 4, generator=g)
    y = x.sin().sum(1)
    for _ in range(3):
        rows = torch.randint(30, (MEMBERS, 8), generator=g)
        yield x[rows], y[rows]


def run():
    members = make_members()
    ens = Ensemble(members)
    opt = torch.optim.Adam(ens.params.values(), lr=1e-2, foreach=True)
    for x, y in bootstraps():
        mean, log_var = ens(x, per_member=True)
        loss = nll(mean, log_var, y).mean(1).sum()  # sum over members keeps them independent
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        spread = ens(torch.randn(5, 4), per_member=False)[0].std(0)
    return members, ens, spread


def verify(outcome):
    members, ens, spread = outcome
    untouched = make_members()
    for i, (plain, old) in enumerate(zip(untouched, members)):
        start = {k: v.clone() for k, v in plain.state_dict().items()}
        assert all(torch.equal(v, old.state_dict()[k]) for k, v in start.items())
        opt = torch.optim.Adam(plain.parameters(), lr=1e-2)
        for x, y in bootstraps():
            opt.zero_grad()
            nll(*plain(x[i]), y[i]).mean().backward()
            opt.step()
        for k, v in plain.named_parameters():
            assert torch.allclose(ens.params[k][i], v, atol=1e-5) and not torch.equal(v, start[k])
    assert (spread > 0).all()


TRUTH = Truth()
