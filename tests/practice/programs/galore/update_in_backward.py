"""GaLore, layer by layer: each parameter is updated in its own hook during backward and .grad is gone afterwards; all right."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GaLoreProjector:
    def __init__(self, rank, update_proj_gap=2, scale=1.0):
        self.rank, self.update_proj_gap, self.scale, self.ortho = rank, update_proj_gap, scale, None

    def project(self, grad, step):
        if self.ortho is None or step % self.update_proj_gap == 0:
            self.ortho = torch.linalg.svd(grad, full_matrices=False)[2][: self.rank]
        return grad @ self.ortho.t()

    def project_back(self, low):
        return low @ self.ortho * self.scale


class GaLoreAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad, state = p.grad, self.state[p]
                step = state.setdefault("step", 0)
                if "rank" in group:
                    projector = state.setdefault("projector", GaLoreProjector(group["rank"]))
                    grad = projector.project(grad, step)
                if "exp_avg" not in state:
                    state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(grad), torch.zeros_like(grad)
                state["step"] = step = step + 1
                state["exp_avg"].mul_(beta1).add_(grad, alpha=1 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                update = state["exp_avg"] / (1 - beta1**step)
                update = update / ((state["exp_avg_sq"] / (1 - beta2**step)).sqrt() + group["eps"])
                if "rank" in group:
                    update = state["projector"].project_back(update)
                p.add_(update, alpha=-group["lr"])
                p.mul_(1 - group["lr"] * group["weight_decay"])


class LlamaTiny(nn.Module):
    def __init__(self, vocab=20, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.up, self.gate = nn.Linear(dim, 16, bias=False), nn.Linear(dim, 16, bias=False)
        self.down = nn.Linear(16, dim, bias=False)
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        x = x + self.down(F.silu(self.gate(x)) * self.up(x))
        return self.head(self.norm(x))


def install(model, lr):
    optimizers = {}
    for name, p in model.named_parameters():
        group = {"params": [p]}
        if p.ndim == 2 and "embed" not in name:
            group["rank"] = 4
        optimizers[p] = GaLoreAdamW([group], lr=lr)

    def optimizer_hook(p):
        if p.grad is None:
            return
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(optimizer_hook)


def run():
    torch.manual_seed(0)
    model = LlamaTiny()
    install(model, lr=1e-2)
    ids = torch.randint(0, 20, (4, 9))
    start, losses = {n: p.detach().clone() for n, p in model.named_parameters()}, []
    for _ in range(4):
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        losses.append(loss.item())
    return losses, [n for n, p in model.named_parameters() if torch.equal(p, start[n])]


def verify(outcome):
    losses, still = outcome
    assert not still and losses[-1] < losses[0], outcome


TRUTH = Truth()
