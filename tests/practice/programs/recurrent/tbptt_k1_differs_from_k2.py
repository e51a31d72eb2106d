"""Truncated BPTT with k1=2, k2=4 (after a well-known forum answer): states are cut into leaves, gradients carried back by hand."""

import torch
from torch import nn
from tests.practice.truth import Truth


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 6)
        self.read = nn.Linear(6, 1)

    def forward(self, x, h):
        h = self.cell(x, h)
        return self.read(h), h


class TBPTT:
    def __init__(self, model, opt, k1, k2):
        self.model, self.opt, self.k1, self.k2 = model, opt, k1, k2
        self.grads = []

    def train(self, xs, ys, h):
        states = [(None, h)]
        for t, (x, y) in enumerate(zip(xs, ys)):
            state = states[-1][1].detach().requires_grad_()
            out, new = self.model(x, state)
            states.append((state, new))
            del states[: -self.k2 - 1]
            if (t + 1) % self.k1 == 0:
                self.opt.zero_grad()
                loss = (out - y).pow(2).mean()
                loss.backward(retain_graph=True)
                for i in range(1, min(self.k2, len(states) - 1)):
                    leaf = states[-i][0]
                    if states[-i - 1][0] is None:
                        break
                    carried, leaf.grad = leaf.grad, None
                    states[-i - 1][1].backward(carried, retain_graph=True)
                states[max(-len(states), -min(self.k2, len(states) - 1))][0].grad = None
                self.grads.append([p.grad.clone() for p in self.model.parameters()])
        return states[-1][1].detach()


def series():
    g = torch.Generator().manual_seed(4)
    xs = torch.randn(8, 2, 3, generator=g, dtype=torch.double)
    return xs, xs.cumsum(0).sum(-1, keepdim=True) * 0.3


def run():
    torch.manual_seed(0)
    model = Cell().double()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    trainer = TBPTT(model, opt, 2, 4)
    xs, ys = series()
    trainer.train(xs, ys, torch.zeros(2, 6, dtype=torch.double))
    start = {k: v.clone() for k, v in model.state_dict().items()}
    opt.step()
    return trainer.grads, start, model.state_dict()


def verify(outcome):
    grads, start, end = outcome
    model = Cell().double()
    model.load_state_dict(start)
    xs, ys = series()
    for index, t in enumerate((1, 3, 5, 7)):
        h = torch.zeros(2, 6, dtype=torch.double)
        for s in range(t + 1):
            if s == t - 3:
                h = h.detach()
            out, h = model(xs[s], h)
        wanted = torch.autograd.grad((out - ys[t]).pow(2).mean(), list(model.parameters()))
        assert all(torch.allclose(a, b, atol=1e-10) for a, b in zip(grads[index], wanted)), t
    assert all(not torch.equal(start[k], end[k]) for k in start)


TRUTH = Truth()
