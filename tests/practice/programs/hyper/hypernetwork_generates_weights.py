"""Hypernetwork: the main network is empty (its own parameters are frozen placeholders), its weights are generated per task."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call
from tests.practice.truth import Truth


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 6), nn.Linear(6, 1)

    def forward(self, x):
        return self.b(torch.relu(self.a(x))).squeeze(-1)


class HyperNet(nn.Module):
    def __init__(self, main, tasks, dim=4):
        super().__init__()
        self.shapes = {n: p.shape for n, p in main.named_parameters()}
        self.task = nn.Embedding(tasks, dim)
        self.body = nn.Linear(dim, 10)
        self.heads = nn.ModuleDict({n.replace(".", "_"): nn.Linear(10, s.numel()) for n, s in self.shapes.items()})

    def forward(self, task):
        h = torch.tanh(self.body(self.task(task)))
        return {n: self.heads[n.replace(".", "_")](h).view(s) for n, s in self.shapes.items()}


def retention(hyper, snapshot, task):
    if task == 0:
        return torch.zeros(())
    total = 0
    for old in range(task):
        with torch.no_grad():
            target = snapshot(torch.tensor(old))
        now = hyper(torch.tensor(old))
        total = total + sum((now[n] - target[n]).square().sum() for n in now)
    return total / task


def run():
    import copy

    torch.manual_seed(0)
    main = Main().requires_grad_(False)
    hyper = HyperNet(main, 3)
    log = []
    for task in range(3):
        snapshot = copy.deepcopy(hyper).requires_grad_(False)
        opt = torch.optim.Adam(hyper.parameters(), lr=1e-2)  # a new one for each task
        for _ in range(2):
            x = torch.randn(10, 3)
            y = x.roll(task, 1)[:, 0]
            state = {k: v.clone() for k, v in hyper.state_dict().items()}
            out = functional_call(main, hyper(torch.tensor(task)), (x,))
            loss = F.mse_loss(out, y) + 0.1 * retention(hyper, snapshot, task)
            opt.zero_grad()
            loss.backward()
            log.append((task, x, y, state, snapshot, {n: p.grad.clone() for n, p in hyper.named_parameters()}))
            opt.step()
    return main, hyper, log


def verify(outcome):
    main, hyper, log = outcome
    assert all(p.grad is None for p in main.parameters())
    twin = HyperNet(main, 3)
    for task, x, y, state, snapshot, grads in log:
        twin.load_state_dict(state)
        flat = []
        for t in range(task + 1):
            h = torch.tanh(F.linear(twin.task.weight[t], twin.body.weight, twin.body.bias))
            flat.append({k: F.linear(h, m.weight, m.bias) for k, m in twin.heads.items()})
        w = flat[task]
        out = torch.relu(x @ w["a_weight"].view(6, 3).T + w["a_bias"]) @ w["b_weight"] + w["b_bias"]
        loss = (out - y).square().mean()
        for t in range(task):
            fixed = snapshot(torch.tensor(t))
            loss = loss + 0.1 / task * sum(
                (flat[t][n.replace(".", "_")] - v.flatten()).square().sum() for n, v in fixed.items()
            )
        for (n, _), g in zip(twin.named_parameters(), torch.autograd.grad(loss, list(twin.parameters()))):
            assert torch.allclose(g, grads[n], atol=1e-5), n
    assert all(not torch.equal(p, log[0][3][n]) for n, p in hyper.named_parameters())


TRUTH = Truth()
