"""ULMFiT: layers thaw from the top one by one, each joins the optimizer as a new group with a decayed learning rate."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x)


class GradualUnfreezing:
    def __init__(self, model, lr, decay):
        self.model, self.lr, self.decay = model, lr, decay
        model.layers.requires_grad_(False)
        self.opt = torch.optim.SGD(model.head.parameters(), lr=lr, momentum=0.9)
        self.pending = list(model.layers)

    def thaw(self):
        if self.pending:
            layer = self.pending.pop().requires_grad_(True)
            self.lr *= self.decay
            self.opt.add_param_group({"params": list(layer.parameters()), "lr": self.lr})


def run():
    torch.manual_seed(0)
    model = Stack()
    plan = GradualUnfreezing(model, 0.1, 0.5)
    history = []
    for epoch in range(4):
        x, y = torch.randn(12, 6), torch.randint(2, (12,))
        before = {n: p.detach().clone() for n, p in model.named_parameters()}
        plan.opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        plan.opt.step()
        moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
        history.append((x, y, before, moved))
        plan.thaw()
    return model, plan, history


def verify(outcome):
    model, plan, history = outcome
    assert [g["lr"] for g in plan.opt.param_groups] == [0.1, 0.05, 0.025, 0.0125]
    for epoch, (x, y, before, moved) in enumerate(history):
        live = ["head"] + [f"layers.{i}" for i in (2, 1, 0)][:epoch]
        assert moved == {f"{n}.{k}" for n in live for k in ("weight", "bias")}
    twin = Stack()
    twin.load_state_dict(history[0][2])
    velocity = {}
    rates = {"head": 0.1, "layers.2": 0.05, "layers.1": 0.025, "layers.0": 0.0125}
    for x, y, _, moved in history:
        names, params = zip(*[(n, p) for n, p in twin.named_parameters() if n in moved])
        with torch.enable_grad():
            grads = torch.autograd.grad(F.cross_entropy(twin(x), y), params)
        for n, p, g in zip(names, params, grads):
            velocity[n] = 0.9 * velocity.get(n, 0) + g
            p.data -= rates[n.rsplit(".", 1)[0]] * velocity[n]
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(twin.parameters(), model.parameters()))


TRUTH = Truth()
