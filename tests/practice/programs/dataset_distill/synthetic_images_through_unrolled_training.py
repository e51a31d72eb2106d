"""Dataset distillation: synthetic examples learn through an unrolled training of throw-away networks, made anew every outer step."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


def init_net(generator):
    w1 = torch.randn(8, 5, generator=generator, dtype=torch.double) * 0.4
    w2 = torch.randn(3, 8, generator=generator, dtype=torch.double) * 0.4
    return [w.requires_grad_() for w in (w1, w2)]


def forward(weights, x):
    return torch.tanh(x @ weights[0].T) @ weights[1].T


class Distilled(nn.Module):
    def __init__(self, per_class, classes=3):
        super().__init__()
        self.images = nn.Parameter(torch.randn(per_class * classes, 5, dtype=torch.double))
        self.register_buffer("labels", torch.arange(classes).repeat(per_class))
        self.log_lr = nn.Parameter(torch.tensor(-1.0, dtype=torch.double))

    def train_student(self, weights, steps, differentiable=True):
        for _ in range(steps):
            loss = F.cross_entropy(forward(weights, self.images), self.labels)
            grads = torch.autograd.grad(loss, weights, create_graph=differentiable)
            weights = [w - self.log_lr.exp() * g for w, g in zip(weights, grads)]
            if not differentiable:
                weights = [w.detach().requires_grad_() for w in weights]
        return weights


def run():
    torch.manual_seed(0)
    data = Distilled(2)
    opt = torch.optim.Adam(data.parameters(), lr=0.05)
    log = []
    for it in range(3):
        x, y = torch.randn(20, 5, dtype=torch.double), torch.randint(3, (20,))
        state = {k: v.clone() for k, v in data.state_dict().items()}
        opt.zero_grad()
        for student in range(2):  # two students, gradients add up
            weights = data.train_student(init_net(torch.Generator().manual_seed(10 * it + student)), steps=2)
            (F.cross_entropy(forward(weights, x), y) / 2).backward()
        log.append((it, x, y, state, data.images.grad.clone(), data.log_lr.grad.clone()))
        opt.step()
    final = data.train_student(init_net(torch.Generator().manual_seed(99)), 4, differentiable=False)
    return data, log, [w.requires_grad and w.grad_fn is None for w in final]


def verify(outcome):
    data, log, leaves = outcome
    assert all(leaves)
    twin = Distilled(2)
    for it, x, y, state, grad, lr_grad in log:

        def value(images, log_lr):
            with torch.no_grad():
                twin.images.copy_(images)
                twin.log_lr.copy_(log_lr)
            total = 0.0
            for student in range(2):
                w = twin.train_student(
                    init_net(torch.Generator().manual_seed(10 * it + student)), 2, differentiable=False
                )
                total += F.cross_entropy(forward(w, x), y).item() / 2
            return total

        d = torch.randn_like(grad)
        slope = (
            value(state["images"] + 1e-5 * d, state["log_lr"]) - value(state["images"] - 1e-5 * d, state["log_lr"])
        ) / 2e-5
        assert abs(slope - (grad * d).sum().item()) < 1e-7
        slope = (value(state["images"], state["log_lr"] + 1e-5) - value(state["images"], state["log_lr"] - 1e-5)) / 2e-5
        assert abs(slope - lr_grad.item()) < 1e-7
    assert not (data.images == log[0][3]["images"]).any() and data.log_lr.item() != -1.0


TRUTH = Truth()
