"""MAML for sine-shaped tides: fast weights by functional_call, create_graph=True, buffers detached. Healthy."""
import torch
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class TideNet(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.register_buffer("scale", torch.tensor(0.2))
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, t):
        return self.net(self.scale * t)


class MetaSGD(nn.Module):
    """MAML with a learnt step size for each tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.log_lr = nn.ParameterDict({k.replace(".", "_"): torch.tensor(-3.0) for k, _ in model.named_parameters()})

    def adapt(self, x, y, steps):
        fast = dict(self.model.named_parameters())
        frozen = {k: b.detach() for k, b in self.model.named_buffers()}
        for _ in range(steps):
            loss = (functional_call(self.model, {**fast, **frozen}, x) - y).square().mean()
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {k: w - self.log_lr[k.replace(".", "_")].exp() * g for (k, w), g in zip(fast.items(), grads)}
        return fast, loss.detach()

    def outer_loss(self, tasks, steps=2):
        total = 0.0
        for xs, ys, xq, yq in tasks:
            fast, _ = self.adapt(xs, ys, steps)
            total = total + (functional_call(self.model, fast, xq) - yq).square().mean()
        return total / len(tasks)


def harbours(n):
    for _ in range(n):
        amplitude, phase = 0.5 + torch.rand(()), 6 * torch.rand(())
        t = 10 * torch.rand(20, 1) - 5
        y = amplitude * torch.sin(t + phase)
        yield t[:10], y[:10], t[10:], y[10:]


def run():
    torch.manual_seed(0)
    meta = MetaSGD(TideNet())
    optimizer = torch.optim.Adam(meta.parameters(), lr=5e-3)
    before = {k: p.detach().clone() for k, p in meta.named_parameters()}
    tasks = list(harbours(4))
    losses = []
    for _ in range(4):
        loss = meta.outer_loss(tasks)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return before, dict(meta.named_parameters()), losses


def verify(outcome):
    before, after, losses = outcome
    still = [k for k in before if torch.equal(before[k], after[k])]
    assert not still, still
    assert losses[-1] < losses[0]


TRUTH = Truth()
