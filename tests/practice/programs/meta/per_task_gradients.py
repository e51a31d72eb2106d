"""torch.func.grad over parameters that the loss does not use: the closure calls the module itself, all gradients are zero."""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn import functional as F

from tests.practice.truth import Truth


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 12)
        self.scale = nn.Parameter(torch.ones(12))
        self.out = nn.Linear(12, 2)

    def forward(self, x):
        return self.out(torch.relu(self.layer(x)) * self.scale)


class Trainer:
    def __init__(self, model, lr=0.1):
        self.model, self.lr = model, lr
        self.params = {n: p.detach().clone() for n, p in model.named_parameters()}

    def compute_loss(self, params, x, y):
        logits = self.model(x)  # cause
        return F.cross_entropy(logits, y)

    def step(self, xs, ys):
        fn = vmap(grad_and_value(self.compute_loss), in_dims=(None, 0, 0))
        grads, losses = fn(self.params, xs, ys)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        coef = (1.0 / (norms + 1e-6)).clamp(max=1.0)  # each task has a say of at most one
        for n, g in grads.items():
            self.params[n] = self.params[n] - self.lr * torch.einsum("t,t...->...", coef, g) / len(coef)
        return losses.mean().item()

    @torch.no_grad()
    def accuracy(self, x, y):
        return (functional_call(self.model, self.params, (x,)).argmax(1) == y).float().mean().item()


def run():
    torch.manual_seed(0)
    trainer = Trainer(Embedder())
    start = dict(trainer.params)
    xs, ys = torch.randn(3, 8, 6), torch.randint(0, 2, (3, 8))
    for it in range(3):
        loss = trainer.step(xs, ys)
        print(f"{it} loss {loss:.4f} acc {trainer.accuracy(xs[0], ys[0]):.2f}")
    return trainer.params, start


def verify(out):
    params, start = out
    assert all(torch.equal(params[n], start[n]) for n in start)


TRUTH = Truth(
    fault="the loss is not a function of the parameters it is differentiated by",
    names=("params",),
    repair=("logits = functional_call(self.model, params, (x,))",),
)
