"""Per-sample gradients by vmap over a model with an old-style autograd.Function, which torch.func cannot look into."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from tests.practice.truth import Truth


class Swish(torch.autograd.Function):  # cause
    """x * sigmoid(x), saving only its input."""

    @staticmethod
    def forward(ctx, x):  # cause
        ctx.save_for_backward(x)  # cause
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


class SwishLayer(nn.Module):
    def forward(self, x):
        return Swish.apply(x)  # symptom


class DPTrainer:
    """DP-SGD: every sample's gradient is clipped, then noise is added to their sum."""

    def __init__(self, model, clip=1.0, noise=0.5, lr=0.1):
        self.model, self.clip, self.noise = model, clip, noise
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.sample_grads = vmap(grad(self.loss), in_dims=(None, 0, 0))

    def loss(self, params, x, y):
        return F.cross_entropy(functional_call(self.model, params, (x[None],)), y[None])

    def step(self, x, y):
        params = {n: p.detach() for n, p in self.model.named_parameters()}
        grads = self.sample_grads(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (self.clip / norms.clamp(min=1e-6)).clamp(max=1.0)
        for n, p in self.model.named_parameters():
            total = torch.einsum("n,n...->...", factor, grads[n])
            p.grad = (total + self.noise * self.clip * torch.randn_like(p)) / len(x)
        self.opt.step()
        return norms.median().item()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 10), SwishLayer(), nn.Linear(10, 2))
    trainer = DPTrainer(model)
    for step in range(2):
        x = torch.randn(12, 5)
        y = (x.sum(1) > 0).long()
        median = trainer.step(x, y)
        with torch.no_grad():
            loss = F.cross_entropy(model(x), y).item()
        print(f"step {step} loss {loss:.4f} median norm {median:.3f}")
    return model


TRUTH = Truth(
    fault="a Function without setup_context under torch.func",
    raises="In order to use an autograd.Function with functorch transforms",
    names=("Swish",),
    repair=(
        "class Swish(torch.autograd.Function):\n    generate_vmap_rule = True\n\n    @staticmethod\n"
        "    def setup_context(ctx, inputs, output):\n        ctx.save_for_backward(*inputs)\n",
        "def forward(x):",
        "pass",
    ),
)
