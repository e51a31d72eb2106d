"""PCGrad: each task's gradients are kept by reference, and the next task's zero_grad() clears them in place."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PCGrad:
    def __init__(self, optimizer):
        self.optim = optimizer

    @property
    def params(self):
        return [p for group in self.optim.param_groups for p in group["params"]]

    def _collect(self, objectives):
        grads = []
        for objective in objectives:
            self.optim.zero_grad(set_to_none=False)
            objective.backward(retain_graph=True)
            grads.append([p.grad for p in self.params])  # cause
        return grads

    @staticmethod
    def _project(grads):
        flat = [torch.cat([g.flatten() for g in task]) for task in grads]
        result = [f.clone() for f in flat]
        for i, gi in enumerate(result):
            for j in torch.randperm(len(flat)).tolist():
                if i != j:
                    dot = gi @ flat[j]
                    if dot < 0:
                        gi -= dot / flat[j].square().sum() * flat[j]
        return sum(result)

    def pc_backward(self, objectives):
        merged = self._project(self._collect(objectives))
        for p, g in zip(self.params, merged.split([p.numel() for p in self.params])):
            p.grad = g.view_as(p).clone()

    def step(self):
        self.optim.step()


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.age = nn.Linear(12, 1)
        self.gender = nn.Linear(12, 2)
        for p in self.parameters():
            p.grad = torch.zeros_like(p)

    def forward(self, x):
        z = self.shared(x)
        return self.age(z).squeeze(1), self.gender(z)


def run():
    torch.manual_seed(0)
    model = MultiHead()
    opt = PCGrad(torch.optim.SGD(model.parameters(), lr=0.05))
    for step in range(3):
        x = torch.randn(16, 6)
        age, gender = model(x)
        losses = [F.mse_loss(age, x[:, 0] + 1), F.cross_entropy(gender, (x[:, 1] > 0).long())]
        opt.pc_backward(losses)
        opt.step()
        print(f"step {step}", [round(l.item(), 3) for l in losses])
    return model


def verify(out):
    # both tasks' entries are the last task's: the other head gets a zero
    assert not out.age.weight.grad.any()


TRUTH = Truth(
    fault="the kept gradients are the parameters' own .grad, zeroed for the next task",
    names=("grad",),
    repair=("grads.append([p.grad.clone() for p in self.params])",),
)
