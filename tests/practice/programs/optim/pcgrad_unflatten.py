"""Multi-task: PCGrad flattens gradients in the order of parameters() and gives them back in the order of the sorted names."""

import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class PCGrad:
    """Projects conflicting gradients of several objectives (Yu et al. 2020)."""

    def __init__(self, optimizer, model, reduction="mean", seed=0):
        self._optim, self._reduction = optimizer, reduction
        self._named = sorted(model.named_parameters())  # cause
        self._params = [p for group in optimizer.param_groups for p in group["params"]]
        self._rng = random.Random(seed)

    @property
    def optimizer(self):
        return self._optim

    def zero_grad(self):
        return self._optim.zero_grad(set_to_none=True)

    def step(self):
        return self._optim.step()

    def pc_backward(self, objectives):
        grads, has_grads = self._pack_grad(objectives)
        pc_grad = self._project_conflicting(grads, has_grads)
        self._set_grad(pc_grad)

    def _project_conflicting(self, grads, has_grads):
        shared = torch.stack(has_grads).prod(0).bool()
        pc_grad = copy.deepcopy(grads)
        for g_i in pc_grad:
            self._rng.shuffle(grads)
            for g_j in grads:
                g_i_g_j = torch.dot(g_i, g_j)
                if g_i_g_j < 0:
                    g_i -= g_i_g_j * g_j / (g_j.norm() ** 2)
        merged = torch.zeros_like(grads[0])
        stacked = torch.stack(pc_grad)
        merged[shared] = stacked[:, shared].mean(0) if self._reduction == "mean" else stacked[:, shared].sum(0)
        merged[~shared] = stacked[:, ~shared].sum(0)
        return merged

    def _pack_grad(self, objectives):
        grads, has_grads = [], []
        for obj in objectives:
            self._optim.zero_grad(set_to_none=True)
            obj.backward(retain_graph=True)
            grad, has = [], []
            for p in self._params:
                grad.append(torch.zeros_like(p).flatten() if p.grad is None else p.grad.clone().flatten())
                has.append(torch.full((p.numel(),), float(p.grad is not None)))
            grads.append(torch.cat(grad))
            has_grads.append(torch.cat(has))
        return grads, has_grads

    def _set_grad(self, flat):
        offset = 0
        for _, p in self._named:
            p.grad = flat[offset : offset + p.numel()].view_as(p).clone()  # also
            offset += p.numel()


class MultiTaskNet(nn.Module):
    def __init__(self, inputs=6, width=12):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.steering = nn.Linear(width, 1)
        self.depth = nn.Linear(width, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.steering(h), self.depth(h)


def losses(model, x):
    steering, depth = model(x)
    return [F.mse_loss(steering, x[:, :1].sin()), F.mse_loss(depth, -x[:, 3:])]


def run():
    torch.manual_seed(0)
    model = MultiTaskNet()
    optimizer = PCGrad(torch.optim.SGD(model.parameters(), lr=0.05), model)
    agree = []
    for _ in range(3):
        x = torch.randn(16, 6)
        objectives = losses(model, x)
        own = torch.autograd.grad(objectives[0], model.steering.weight, retain_graph=True)[0]
        optimizer.zero_grad()
        optimizer.pc_backward(objectives)
        agree.append(
            torch.nn.functional.cosine_similarity(own.flatten(), model.steering.weight.grad.flatten(), dim=0).item()
        )
        optimizer.step()
    return agree


def verify(agree):
    assert max(agree) < 0.9


TRUTH = Truth(
    fault="the projected gradients are given back to the wrong parameters (other order than they were packed in)",
    names=("_set_grad", "grad"),
    repair=("self._named = list(model.named_parameters())",),
)
