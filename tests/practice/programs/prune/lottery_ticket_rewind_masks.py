"""Lottery ticket: train, prune by magnitude, rewind to the initial weights, new optimizer, gradients masked by hooks."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


def prunable(net):
    return [m.weight for m in net.modules() if isinstance(m, nn.Linear)]


class Ticket:
    def __init__(self, net):
        self.net = net
        self.init = copy.deepcopy(net.state_dict())
        self.masks = [torch.ones_like(w) for w in prunable(net)]
        self.handles = []

    def shrink(self, fraction):
        for w, mask in zip(prunable(self.net), self.masks):
            alive = w.detach().abs()[mask.bool()]
            cut = alive.kthvalue(max(1, int(fraction * alive.numel()))).values
            mask.mul_((w.detach().abs() > cut).to(mask))

    def rewind(self):
        self.net.load_state_dict(self.init)
        for h in self.handles:
            h.remove()
        self.handles = []
        with torch.no_grad():
            for w, mask in zip(prunable(self.net), self.masks):
                w.mul_(mask)
                self.handles.append(w.register_hook(lambda g, m=mask: g * m))


def fit(net, batches):
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for x, y in batches:
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        opt.step()


def data(n=3):
    g = torch.Generator().manual_seed(7)
    return [(torch.randn(16, 6, generator=g), torch.randint(4, (16,), generator=g)) for _ in range(n)]


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    ticket = Ticket(net)
    for _ in range(2):
        fit(net, data())
        ticket.shrink(0.4)
        ticket.rewind()
    fit(net, data())
    return ticket


def verify(ticket):
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    net.load_state_dict(ticket.init)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for x, y in data():  # plain: masked functional forward, masked start
        w0, w1 = net[0].weight * ticket.masks[0], net[2].weight * ticket.masks[1]
        opt.zero_grad()
        F.cross_entropy(F.linear(F.relu(F.linear(x, w0, net[0].bias)), w1, net[2].bias), y).backward()
        opt.step()
    for i, mask in zip((0, 2), ticket.masks):
        got = ticket.net[i].weight
        assert 0.3 < mask.mean() < 0.5 and not got[mask == 0].any()
        assert torch.allclose(got, net[i].weight * mask, atol=1e-6)
        assert not torch.equal(got, ticket.init[f"{i}.weight"] * mask)


TRUTH = Truth()
