"""AG403: optimizers that keep their state in another shape than the parameter, on purpose or not."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected, summary
from .twins import calm


class Projected(torch.optim.Optimizer):
    """Momentum of the first columns of the gradient."""

    def __init__(self, params, lr=0.1, rank=2):
        super().__init__(params, {"lr": lr, "rank": rank})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                low, state = p.grad[:, : group["rank"]], self.state[p]
                if "exp_avg" not in state:
                    state["exp_avg"] = torch.zeros_like(low)
                state["exp_avg"].mul_(0.9).add_(low)
                p[:, : group["rank"]].sub_(state["exp_avg"], alpha=group["lr"])


class RowWise(torch.optim.Optimizer):
    """One second moment a row."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "exp_avg_sq" not in state:
                    state["exp_avg_sq"] = torch.zeros(len(p), 1)
                state["exp_avg_sq"].mul_(0.9).add_(p.grad.pow(2).mean(1, keepdim=True))
                p.sub_(p.grad / (state["exp_avg_sq"].sqrt() + 1e-8), alpha=group["lr"])


def trained(layer, optimizer, steps=2):
    for _ in range(steps):
        optimizer.zero_grad()
        layer(torch.ones(2, layer.in_features)).pow(2).mean().backward()
        optimizer.step()


def layer_of(width=5):
    return nn.Linear(width, 3, bias=False)


def test_state_that_the_step_made():
    """A projected gradient, one number a row: the optimizer made it so, and steps with it, however long."""

    def run(kind, steps=2):
        layer = layer_of()
        trained(layer, kind(layer.parameters()), steps)

    calm(lambda: run(Projected), lambda: run(RowWise), lambda: run(Projected, 12))


def test_state_from_before_the_block():
    """Two shapes that do not broadcast: a step that ends well wants the state so, also after its own checkpoint."""

    def run(load):
        layer = layer_of()
        optimizer = Projected(layer.parameters())
        trained(layer, optimizer)

        def resume():
            if load:
                optimizer.load_state_dict(optimizer.state_dict())
            trained(layer, optimizer)

        return inspected(resume)

    for report in map(run, (False, True)):
        assert not report.findings, summary(report)


def test_state_that_the_program_put_there():
    """What the program assigns in another shape is told, also of an optimizer with shapes of its own."""
    layer = layer_of()
    optimizer = RowWise(layer.parameters())

    def program():
        trained(layer, optimizer)
        for p in layer.parameters():
            optimizer.state[p]["exp_avg_sq"] = torch.zeros(1, 1)

    diagnosed(program, "AG403", '["exp_avg_sq"] = torch.zeros', "exp_avg_sq", severity="warning")


def test_state_of_another_width_that_no_step_took():
    """A checkpoint of another model: its state was projected to more columns, and the step fails."""
    wide, narrow = layer_of(), layer_of()

    def program():
        first = Projected(wide.parameters(), rank=3)
        trained(wide, first)
        second = Projected(narrow.parameters())
        saved = first.state_dict()
        saved["param_groups"][0]["rank"] = 2
        second.load_state_dict(saved)
        trained(narrow, second)

    diagnosed(program, "AG403", "second.load_state_dict(saved)", "exp_avg", severity="error")
