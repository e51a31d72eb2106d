"""Stochastic depth skips whole blocks (their .grad stays None), and batches whose loss is an outlier are dropped before backward."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Residual(nn.Module):
    def __init__(self, dim, survive):
        super().__init__()
        self.fc1, self.fc2, self.survive = nn.Linear(dim, dim), nn.Linear(dim, dim), survive
        self.gain = nn.Parameter(torch.zeros(()))  # ReZero: the branch is silent at first

    def forward(self, x):
        self.alive = not self.training or bool(torch.rand(()) < self.survive)
        if not self.alive:
            return x
        scale = 1 / self.survive if self.training else 1.0
        return x + self.gain * scale * self.fc2(F.relu(self.fc1(x)))


class DeepNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 6)
        self.blocks = nn.ModuleList([Residual(6, 1 - 0.15 * i) for i in range(4)])
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = b(x)
        return self.head(x)


def run():
    torch.manual_seed(0)
    net = DeepNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    average, skipped, log = None, 0, []
    start = {k: v.clone() for k, v in net.state_dict().items()}
    for step in range(7):
        x, y = torch.randn(8, 4), torch.randint(2, (8,))
        if step == 3:
            x = x * 1e4  # a corrupt batch
        loss = F.cross_entropy(net(x), y)
        if average is not None and loss.item() > 4 * average:
            skipped += 1
            del loss
            continue
        average = loss.item() if average is None else 0.9 * average + 0.1 * loss.item()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        state = {k: v.clone() for k, v in net.state_dict().items()}
        log.append(
            (
                x,
                y,
                [b.alive for b in net.blocks],
                state,
                {n: None if p.grad is None else p.grad.clone() for n, p in net.named_parameters()},
            )
        )
        opt.step()
    return net, start, skipped, log


def verify(outcome):
    net, start, skipped, log = outcome
    assert skipped == 1 and len(log) == 6
    assert any(not all(alive) for _, _, alive, _, _ in log)
    for i, (x, y, alive, s, grads) in enumerate(log):
        p = {k: v.clone().requires_grad_() for k, v in s.items()}
        h = x @ p["stem.weight"].T + p["stem.bias"]
        for j, a in enumerate(alive):
            if a:
                w = lambda k: p[f"blocks.{j}.{k}"]
                h = h + w("gain") / (1 - 0.15 * j) * (
                    (h @ w("fc1.weight").T + w("fc1.bias")).relu() @ w("fc2.weight").T + w("fc2.bias")
                )
        loss = F.cross_entropy(h @ p["head.weight"].T + p["head.bias"], y)
        wanted = torch.autograd.grad(loss, list(p.values()), allow_unused=True)
        for (n, _), g in zip(p.items(), wanted):
            assert (g is None) == (grads[n] is None), n
            assert g is None or torch.allclose(g, grads[n], atol=1e-6)
            after = (log[i + 1][3] if i + 1 < len(log) else net.state_dict())[n]
            assert torch.equal(after, s[n]) if g is None else torch.allclose(after, s[n] - 0.1 * g, atol=1e-6)
    assert all(not torch.equal(v, start[k]) for k, v in net.state_dict().items())


TRUTH = Truth()
