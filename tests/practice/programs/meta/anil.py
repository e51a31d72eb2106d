"""ANIL: the features are taken once for inner and outer loop, under no_grad, so the body is never meta-trained."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ANIL(nn.Module):
    def __init__(self, ways=3, dim=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, dim), nn.ReLU())
        self.head = nn.Linear(dim, ways)
        self.log_lr = nn.Parameter(torch.tensor(-2.0))

    def adapt(self, feats, y, steps):
        w, b = self.head.weight, self.head.bias
        for _ in range(steps):
            loss = F.cross_entropy(F.linear(feats, w, b), y)
            gw, gb = torch.autograd.grad(loss, (w, b), create_graph=True)
            w, b = w - self.log_lr.exp() * gw, b - self.log_lr.exp() * gb
        return w, b

    def features(self, task):
        # only the head is adapted: one pass through the body serves all inner steps
        with torch.no_grad():  # cause
            return self.body(task["xs"]), self.body(task["xq"])  # also

    def forward(self, task, steps=2):
        fs, fq = self.features(task)
        w, b = self.adapt(fs, task["ys"], steps)
        logits = F.linear(fq, w, b)
        return F.cross_entropy(logits, task["yq"]), (logits.argmax(1) == task["yq"]).float().mean().item()


def sample(ways=3, shots=3):
    proto, y = torch.randn(ways, 10), torch.arange(ways).repeat(shots)
    draw = lambda: proto[y] + 0.5 * torch.randn(len(y), 10)
    return {"xs": draw(), "ys": y, "xq": draw(), "yq": y}


def run():
    torch.manual_seed(0)
    model = ANIL()
    start = [p.detach().clone() for p in model.body.parameters()]
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(3):
        results = [model(sample()) for _ in range(2)]
        loss = torch.stack([r[0] for r in results]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{step} loss {loss.item():.3f} acc {sum(r[1] for r in results) / 2:.2f}")
    return model, start


def verify(out):
    model, start = out
    assert all(torch.equal(p, s) for p, s in zip(model.body.parameters(), start))


TRUTH = Truth(
    fault="the body is under no_grad also for the outer loss",
    names=("body",),
    repair=("with torch.enable_grad():",),
)
