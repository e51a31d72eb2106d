"""Deep equilibrium layer: the solver runs in no_grad, one more call re-attaches it, a tensor hook solves the adjoint."""

import torch
from torch import nn
from tests.practice.truth import Truth


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w = nn.Linear(dim, dim, bias=False)
        self.u = nn.Linear(dim, dim)
        with torch.no_grad():
            self.w.weight.mul_(0.5)

    def forward(self, z, x):
        return torch.tanh(self.w(z) + self.u(x))


class Deq(nn.Module):
    def __init__(self, cell, iters=80):
        super().__init__()
        self.cell, self.iters = cell, iters
        self.hook = None

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(self.iters):
                z = self.cell(z, x)
        new = self.cell(z, x)
        if torch.is_grad_enabled():
            z0 = z.detach().requires_grad_()
            f0 = self.cell(z0, x.detach())

            def backward_hook(grad):
                if self.hook is not None:
                    self.hook.remove()
                    self.hook = None
                g = grad
                for _ in range(self.iters):
                    g = torch.autograd.grad(f0, z0, g, retain_graph=True)[0] + grad
                return g

            self.hook = new.register_hook(backward_hook)
        return new


def run():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.double)
    try:
        model = nn.Sequential(nn.Linear(3, 5), Deq(Cell(5)), nn.Linear(5, 2))
        opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        trail = []
        for _ in range(3):
            x, y = torch.randn(7, 3), torch.randn(7, 2)
            state = {k: v.clone() for k, v in model.state_dict().items()}
            opt.zero_grad()
            ((model(x) - y) ** 2).mean().backward()
            trail.append((state, x, y, {n: p.grad.clone() for n, p in model.named_parameters()}))
            opt.step()
    finally:
        torch.set_default_dtype(torch.float)
    return trail, model.state_dict()


def verify(outcome):
    trail, last = outcome
    for state, x, y, grads in trail:
        ws = {k: v.clone().requires_grad_() for k, v in state.items()}
        h = x @ ws["0.weight"].T + ws["0.bias"]
        z = torch.zeros_like(h)
        for _ in range(80):  # plain unrolled backpropagation
            z = torch.tanh(z @ ws["1.cell.w.weight"].T + h @ ws["1.cell.u.weight"].T + ws["1.cell.u.bias"])
        loss = ((z @ ws["2.weight"].T + ws["2.bias"] - y) ** 2).mean()
        for (name, _), g in zip(ws.items(), torch.autograd.grad(loss, list(ws.values()))):
            assert torch.allclose(g, grads[name], atol=1e-8), name
    assert all(not torch.equal(trail[0][0][k], last[k]) for k in last)


TRUTH = Truth()
