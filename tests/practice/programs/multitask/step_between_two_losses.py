"""One forward pass, two tasks: the shared trunk is stepped for the first task before the second task's backward."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MMoE(nn.Module):
    """Multi-gate mixture of experts."""

    def __init__(self, inp=6, dim=8, experts=3, tasks=2):
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(inp, dim), nn.ReLU(), nn.Linear(dim, dim)) for _ in range(experts)
        )
        self.gates = nn.ModuleList(nn.Linear(inp, experts) for _ in range(tasks))
        self.towers = nn.ModuleList(nn.Linear(dim, 1) for _ in range(tasks))

    def forward(self, x):
        h = torch.stack([expert(x) for expert in self.experts], dim=1)
        outs = []
        for gate, tower in zip(self.gates, self.towers):
            mixed = (gate(x).softmax(1)[..., None] * h).sum(1)
            outs.append(tower(mixed).squeeze(1))
        return outs


def optimizers(model, lr=1e-3):
    shared = list(model.experts.parameters())
    return [
        torch.optim.Adam([*shared, *gate.parameters(), *tower.parameters()], lr=lr)
        for gate, tower in zip(model.gates, model.towers)
    ]


def run():
    torch.manual_seed(0)
    model = MMoE()
    opts = optimizers(model)
    for step in range(2):
        x = torch.randn(32, 6)
        clicks, dwell = (x[:, 0] > 0).float(), x[:, 1].abs()
        click_logit, dwell_pred = model(x)
        losses = [F.binary_cross_entropy_with_logits(click_logit, clicks), F.mse_loss(dwell_pred, dwell)]
        for i, (opt, loss) in enumerate(zip(opts, losses)):
            opt.zero_grad()
            loss.backward(retain_graph=i == 0)  # symptom
            opt.step()  # cause
        print(f"step {step} click {losses[0].item():.4f} dwell {losses[1].item():.4f}")
    return model


TRUTH = Truth(
    fault="weights are stepped that a graph still needs",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("experts",),
    repair=("opt.step() if i == 1 else None",),
)
