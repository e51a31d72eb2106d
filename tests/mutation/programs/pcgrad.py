import torch
from torch import nn
import torch.nn.functional as F


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 12), nn.Tanh())
        self.head_a = nn.Linear(12, 1)
        self.head_b = nn.Linear(12, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.head_a(h), self.head_b(h)


def grads_of(model):
    return [p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]


def run():
    model = Shared()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(4):
        x, a, b = torch.randn(8, 8), torch.randn(8, 1), torch.randint(0, 3, (8,))
        out_a, out_b = model(x)
        loss_a = F.mse_loss(out_a, a)
        loss_b = F.cross_entropy(out_b, b)
        optimizer.zero_grad()
        loss_a.backward(retain_graph=True)
        grad_a = grads_of(model)
        optimizer.zero_grad()
        loss_b.backward()
        grad_b = grads_of(model)
        dot = sum((ga * gb).sum() for ga, gb in zip(grad_a, grad_b))
        norm = sum((gb * gb).sum() for gb in grad_b)
        for p, ga, gb in zip(model.parameters(), grad_a, grad_b):
            projected = ga - dot / norm * gb if dot < 0 else ga
            p.grad = projected + gb
        optimizer.step()
    return model
