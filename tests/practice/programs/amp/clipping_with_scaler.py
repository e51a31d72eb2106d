"""AMP: gradients are clipped while they are still multiplied by the loss scale, so every step is almost nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(self.norm(x))))


def make_model(dim=8, classes=5):
    return nn.Sequential(nn.Linear(10, dim), Block(dim), Block(dim), nn.Linear(dim, classes))


class AmpTrainer:
    def __init__(self, model, max_norm=1.0, device="cpu"):
        self.model, self.max_norm, self.device = model, max_norm, device
        self.opt = torch.optim.SGD(model.parameters(), lr=0.5)
        self.scaler = torch.amp.GradScaler(device, init_scale=2.0**12)

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            loss = F.cross_entropy(self.model(x), y)
        self.scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)  # cause
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item(), norm.item()


def run():
    torch.manual_seed(0)
    model = make_model()
    trainer = AmpTrainer(model)
    start = model[3].weight.detach().clone()
    for it in range(3):
        x, y = torch.randn(16, 10), torch.randint(0, 5, (16,))
        loss, norm = trainer.step(x, y)
        print(f"it {it} loss {loss:.4f} norm {norm:.3f} scale {trainer.scaler.get_scale():.0f}")
    return model[3].weight, start


def verify(out):
    now, start = out
    assert (now - start).abs().max() < 1e-3


TRUTH = Truth(
    fault="clipping sees gradients that are still scaled",
    names=("unscale_",),
    repair=("self.scaler.unscale_(self.opt)\nnorm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)",),
)
