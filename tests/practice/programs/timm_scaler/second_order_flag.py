"""timm: the flag of second-order optimizers is tested for being there; each gradient drags its graph along."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Lamb(torch.optim.Optimizer):
    is_second_order = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            group["step"] = group.get("step", 0) + 1
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(p), torch.zeros_like(p)
                state["exp_avg"].lerp_(p.grad, 1 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                m = state["exp_avg"] / (1 - beta1 ** group["step"])
                v = state["exp_avg_sq"] / (1 - beta2 ** group["step"])
                update = m / (v.sqrt() + group["eps"]) + group["weight_decay"] * p
                trust = (p.norm() / update.norm()).clamp(0.01, 10.0) if p.dim() > 1 else 1.0
                p.sub_(group["lr"] * trust * update)


class NativeScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cpu", enabled=False)

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, create_graph=False, need_update=True):
        self._scaler.scale(loss).backward(create_graph=create_graph)
        if need_update:
            if clip_grad is not None:
                self._scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(parameters, clip_grad)
            self._scaler.step(optimizer)
            self._scaler.update()


class MlpMixer(nn.Module):
    def __init__(self, patches=16, dim=12, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 4, 4)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tokens = nn.Sequential(nn.Linear(patches, 24), nn.GELU(), nn.Linear(24, patches))
        self.channels = nn.Sequential(nn.Linear(dim, 24), nn.GELU(), nn.Linear(24, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return self.head((x + self.channels(self.norm2(x))).mean(1))


def train_one_epoch(model, loader, optimizer, loss_scaler, clip_grad=1.0):
    second_order = hasattr(optimizer, "is_second_order")  # cause
    carried = []
    for inputs, target in loader:
        output = model(inputs)
        loss = F.cross_entropy(output, target, label_smoothing=0.1)
        optimizer.zero_grad()
        loss_scaler(loss, optimizer, clip_grad, list(model.parameters()), create_graph=second_order)
        carried.append(sum(p.grad.requires_grad for p in model.parameters()))
    return carried


def run():
    torch.manual_seed(42)
    model = MlpMixer()
    loader = [(torch.randn(4, 3, 16, 16), torch.randint(0, 5, (4,))) for _ in range(4)]
    return train_one_epoch(model, loader, Lamb(model.parameters(), lr=5e-3), NativeScaler())


def verify(carried):
    assert len(carried) == 4 and all(carried), carried


TRUTH = Truth(
    fault="create_graph=True for a first-order optimizer: the gradients have graphs, whose memory they keep",
    names=("create_graph",),
    repair=('second_order = getattr(optimizer, "is_second_order", False)',),
)
