"""AdaHessian: backward keeps the graph of the gradients on purpose, and the step differentiates them once more."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class AdaHessian(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, n_samples=1, seed=2147483647):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))
        self.n_samples = n_samples
        self.generator = torch.Generator().manual_seed(seed)
        for p in self.get_params():
            p.hess = 0.0

    @property
    def is_second_order(self):
        return True

    def get_params(self):
        return (p for group in self.param_groups for p in group["params"] if p.requires_grad)

    @torch.no_grad()
    def set_hessian(self):
        params = [p for p in self.get_params() if p.grad is not None]
        grads = [p.grad for p in params]
        for i in range(self.n_samples):
            zs = [torch.randint(0, 2, p.size(), generator=self.generator) * 2.0 - 1.0 for p in params]
            h_zs = torch.autograd.grad(grads, params, grad_outputs=zs, retain_graph=i < self.n_samples - 1)
            for h_z, z, p in zip(h_zs, zs, params):
                p.hess = p.hess + h_z * z / self.n_samples

    @torch.no_grad()
    def step(self, closure=None):
        for p in self.get_params():
            p.hess = torch.zeros_like(p)
        self.set_hessian()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.dim() == 4:
                    p.hess = p.hess.abs().mean(dim=[2, 3], keepdim=True).expand_as(p.hess).clone()
                state = self.state[p]
                if len(state) == 0:
                    state["step"], state["exp_avg"] = 0, torch.zeros_like(p)
                    state["exp_hessian_diag_sq"] = torch.zeros_like(p)
                state["step"] += 1
                p.mul_(1 - group["lr"] * group["weight_decay"])
                state["exp_avg"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                state["exp_hessian_diag_sq"].mul_(beta2).addcmul_(p.hess, p.hess, value=1 - beta2)
                denom = (state["exp_hessian_diag_sq"] / (1 - beta2 ** state["step"])).sqrt().add_(group["eps"])
                p.addcdiv_(state["exp_avg"], denom, value=-group["lr"] / (1 - beta1 ** state["step"]))


class WaferDefects(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 3, 2, 1), nn.Conv2d(6, 8, 3, 2, 1)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(F.softplus(self.conv2(F.softplus(self.conv1(x)))).mean((2, 3)))


def run():
    torch.manual_seed(0)
    model = WaferDefects()
    optimizer = AdaHessian(model.parameters(), lr=0.02, eps=1e-2, weight_decay=1e-3)
    images, labels = torch.rand(24, 1, 12, 12), torch.randint(0, 3, (24,))
    losses = []
    for _ in range(6):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward(create_graph=optimizer.is_second_order)
        optimizer.step()
        losses.append(loss.item())
    optimizer.zero_grad(set_to_none=True)
    return losses


def verify(losses):
    assert losses[-1] < losses[0], losses


TRUTH = Truth()
