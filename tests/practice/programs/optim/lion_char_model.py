"""Lion written by hand: the momentum is overwritten with the sign of the update."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Optimizer

from tests.practice.truth import Truth


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]

                p.mul_(1 - group["lr"] * group["weight_decay"])
                update = exp_avg.mul_(beta1).add_(grad, alpha=1 - beta1).sign_()  # cause
                p.add_(update, alpha=-group["lr"])

                # decay the momentum running average
                exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)
        return loss


class CharGRU(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.gru(self.embed(ids))
        return self.out(h)


def batches(n, vocab=20, length=12):
    for _ in range(n):
        start = torch.randint(0, vocab, (8, 1))
        yield (start + torch.arange(length + 1)) % vocab


def run():
    torch.manual_seed(0)
    model = CharGRU()
    optimizer = Lion(model.parameters(), lr=1e-3, weight_decay=0.01)
    grad_sizes = []
    for ids in batches(4):
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        grad_sizes.append(model.out.weight.grad.abs().max().item())
        optimizer.step()
    return max(grad_sizes), optimizer.state[model.out.weight]["exp_avg"].abs().max().item()


def verify(outcome):
    largest_grad, momentum = outcome
    # an average of gradients cannot be larger than all of them
    assert momentum > 5 * largest_grad


TRUTH = Truth(
    fault="the update is built in place in exp_avg, so the running average becomes a sign",
    names=("exp_avg",),
    repair=("update = exp_avg.mul(beta1).add_(grad, alpha=1 - beta1).sign_()",),
)
