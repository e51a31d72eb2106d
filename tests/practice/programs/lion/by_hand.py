"""Lion written by hand, with in-place writes under no_grad, a clear inside step() and a cautious mask. Healthy."""
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CautiousLion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["momentum"] = p.grad.clone()
                m = state["momentum"]
                update = m.lerp(p.grad, 1 - b1).sign_()
                update *= update * p.grad > 0
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-group["lr"])
                m.lerp_(p.grad, 1 - b2)
                p.grad = None
        return loss


class CodeModel(nn.Module):
    def __init__(self, tokens=24, dim=12):
        super().__init__()
        self.embed = nn.Embedding(tokens, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, tokens, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def run():
    torch.manual_seed(0)
    model = CodeModel()
    optimizer = CautiousLion(model.parameters(), lr=3e-3, weight_decay=0.1)
    ids = (torch.arange(9) + torch.randint(10, (8, 1))) % 24
    before = [p.detach().clone() for p in model.parameters()]

    def closure():
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(4)]
    return before, list(model.parameters()), losses


def verify(outcome):
    before, after, losses = outcome
    assert all(not torch.equal(a, b) for a, b in zip(before, after))
    assert losses[-1] < losses[0]


TRUTH = Truth()
