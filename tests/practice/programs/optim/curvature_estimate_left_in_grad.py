"""Sophia: the estimate of the curvature leaves its gradients behind, and the next step adds to them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Sophia(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.9), rho=0.05):
        super().__init__(params, dict(lr=lr, betas=betas, rho=rho))

    @torch.no_grad()
    def update_hessian(self, size):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    old = state.get("hessian", torch.zeros_like(p))
                    state["hessian"] = group["betas"][1] * old + (1 - group["betas"][1]) * size * p.grad.square()

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                old = state.get("momentum", torch.zeros_like(p))
                state["momentum"] = group["betas"][0] * old + (1 - group["betas"][0]) * p.grad
                hessian = state.get("hessian", torch.ones_like(p))
                ratio = (state["momentum"].abs() / (group["rho"] * hessian + 1e-12)).clamp(max=1.0)
                p.add_(state["momentum"].sign() * ratio, alpha=-group["lr"])


class CharModel(nn.Module):
    def __init__(self, vocabulary=11, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocabulary)

    def forward(self, tokens):
        return self.out(self.rnn(self.embed(tokens))[0])


def run(iterations=5, every=2):
    torch.manual_seed(0)
    model = CharModel()
    optimizer = Sophia(model.parameters())
    summed = []
    for iteration in range(iterations):
        tokens = torch.randint(0, 11, (4, 7))
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        (alone,) = torch.autograd.grad(loss, model.out.bias, retain_graph=True)
        loss.backward()
        summed.append(not torch.allclose(alone, model.out.bias.grad))
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if iteration % every == every - 1:
            logits = model(tokens[:, :-1])
            sampled = torch.distributions.Categorical(logits=logits).sample()
            F.cross_entropy(logits.flatten(0, 1), sampled.flatten()).backward()  # cause
            optimizer.update_hessian(size=4 * 6)
    return summed


def verify(summed):
    assert any(summed)


TRUTH = Truth(
    fault="the gradients of the sampled loss are still there when the next loss adds its own",
    names=("zero_grad",),
    repair=(
        "F.cross_entropy(logits.flatten(0, 1), sampled.flatten()).backward()\n"
        "optimizer.update_hessian(size=4 * 6)\noptimizer.zero_grad()\ncontinue",
    ),
)
