"""GradNorm: the total loss has already left its gradient in the task weights when GradNorm's own is added."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SharedTrunk(nn.Module):
    def __init__(self, tasks=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(tasks))
        self.weights = nn.Parameter(torch.ones(tasks))

    def forward(self, x):
        z = self.trunk(x)
        return [head(z).squeeze(-1) for head in self.heads]

    def last_shared(self):
        return self.trunk[2].weight


def gradnorm_loss(losses, initial, weights, shared, alpha):
    norms = torch.stack(
        [
            torch.autograd.grad(w * l, shared, retain_graph=True, create_graph=True)[0].norm()
            for w, l in zip(weights, losses)
        ]
    )
    with torch.no_grad():
        ratio = torch.stack(losses) / initial
        target = norms.mean() * (ratio / ratio.mean()) ** alpha
    return (norms - target).abs().sum()


def run():
    torch.manual_seed(0)
    model = SharedTrunk()
    opt = torch.optim.Adam([p for n, p in model.named_parameters() if n != "weights"], lr=1e-3)
    opt_w = torch.optim.SGD([model.weights], lr=0.025)
    initial, pulled = None, []
    for it in range(3):
        x = torch.randn(32, 10)
        targets = [x[:, 0], 10 * x[:, 1], 0.1 * x[:, 2].sin()]
        losses = [F.mse_loss(out, t) for out, t in zip(model(x), targets)]
        if initial is None:
            initial = torch.stack(losses).detach()
        opt.zero_grad()
        opt_w.zero_grad()
        total = (model.weights * torch.stack(losses)).sum()
        total.backward(retain_graph=True)  # also
        gn = gradnorm_loss(losses, initial, model.weights, model.last_shared(), alpha=1.5)
        before = model.weights.detach().clone()
        gn.backward(inputs=[model.weights])  # cause
        opt.step()
        opt_w.step()
        pulled.append((gn.item(), before - model.weights.detach()))
        with torch.no_grad():
            model.weights.mul_(len(losses) / model.weights.sum())
        print(f"{it} total {total.item():.3f} gradnorm {gn.item():.3f} w {model.weights.tolist()}")
    return pulled


def verify(out):
    assert out[0][1].abs().max() > 1  # the total loss pulls a weight down by its whole task loss


TRUTH = Truth(
    fault="two losses' gradients add up in the task weights",
    names=("weights",),
    repair=("opt_w.zero_grad()\ngn.backward(inputs=[model.weights])",),
)
