"""AG502: graphs of gradients that nothing differentiates."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


class Loop:
    """A training loop; ``use`` gets the optimizer between backward and step."""

    def __init__(self, use=None, again=None):
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.use, self.again, self.seen = use, again, []

    def backward(self, loss, create_graph=False):
        loss.backward(create_graph=create_graph)

    def run(self, second_order=True, rounds=3):
        several = second_order  # The flag.
        for _ in range(rounds):
            self.optimizer.zero_grad()
            loss = self.net(torch.randn(8, 4)).square().mean()
            self.backward(loss, create_graph=several)
            if self.use is not None:
                self.use(self, loss)
            nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.seen.append(self.net[0].weight.grad.norm().item())
            self.optimizer.step()


def test_a_flag_for_an_optimizer_of_first_order():
    """The gradients are clipped, read and stepped with; the statement that sets the flag is named first."""
    diagnosed(Loop().run, "AG502", "several = ", "create_graph", severity="warning", where=Loop.run)


def test_a_flag_that_is_written_at_the_call():
    """backward() itself is named."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(3, 4)).square().mean().backward(create_graph=True)
            optimizer.step()

    diagnosed(program, "AG502", "backward(create_graph", "net.weight", severity="warning")


def test_gradients_that_are_differentiated():
    """By a product with the Hessian, also in the first step alone, a penalty, a hook's sum, an optimizer's step."""

    def hutchinson(loop, _):
        parameters = list(loop.net.parameters())
        grads = [p.grad for p in parameters]
        products = torch.autograd.grad(grads, parameters, [torch.ones_like(g) for g in grads])
        loop.seen.append(products[0].sum().item())

    def sometimes(loop, loss):
        if not loop.seen:
            hutchinson(loop, loss)

    def penalised(loop, _):
        penalty = sum(p.grad.square().sum() for p in loop.net.parameters())
        loop.optimizer.zero_grad()
        penalty.backward()

    class Curvature(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure=None):
            (group,) = self.param_groups
            grads = [p.grad for p in group["params"]]
            traces = torch.autograd.grad(grads, group["params"], [torch.ones_like(g) for g in grads])
            for p, h in zip(group["params"], traces, strict=True):
                p.sub_(p.grad / (h.abs() + 1), alpha=0.1)

    def own_step():
        loop = Loop()
        loop.optimizer = Curvature(loop.net.parameters(), lr=0.1)
        loop.run()

    def hooked():
        loop, kept = Loop(), []
        loop.net[0].weight.register_hook(lambda grad: kept.append(grad.square().sum()))
        loop.use = lambda loop, _: kept.pop().backward()
        loop.run()

    calm(Loop(hutchinson).run, lambda: Loop(sometimes).run(), Loop(penalised).run, own_step, hooked)


def test_graphs_that_serve_otherwise():
    """The graph is gone through once more; what is computed of the gradients is kept; there is one backward."""

    def twice():
        net, head = nn.Linear(4, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            features = net(torch.randn(8, 4)).tanh()
            head(features).square().mean().backward(create_graph=True)
            features.square().mean().backward()
            optimizer.step()

    penalties = []

    def kept():
        loop = Loop()
        loop.use = lambda loop, _: penalties.append(loop.net[0].weight.grad.square().sum())
        loop.run(rounds=2)

    def collected():
        loop = Loop()
        loop.use = lambda loop, _: penalties.append(loop.net[0].weight.grad)
        loop.run(rounds=3)

    calm(twice, kept, collected, lambda: Loop().run(rounds=1), lambda: Loop().run(second_order=False))
