"""VICReg with a gradient scaler: the gradients are clipped while they are still scaled, so next to nothing is left."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def off_diagonal(x):
    n = x.shape[0]
    return x.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()


class VICReg(nn.Module):
    def __init__(self, dim=12, emb=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(16, emb), nn.BatchNorm1d(emb), nn.ReLU(), nn.Linear(emb, emb))

    def forward(self, x, y):
        x, y = self.projector(self.backbone(x)).float(), self.projector(self.backbone(y)).float()
        repr_loss = F.mse_loss(x, y)
        x, y = x - x.mean(0), y - y.mean(0)
        std_x, std_y = torch.sqrt(x.var(0) + 1e-4), torch.sqrt(y.var(0) + 1e-4)
        std_loss = F.relu(1 - std_x).mean() / 2 + F.relu(1 - std_y).mean() / 2
        n, d = x.shape
        cov_loss = sum(off_diagonal(z.T @ z / (n - 1)).pow(2).sum() / d for z in (x, y))
        return 25 * repr_loss + 25 * std_loss + cov_loss


def run():
    torch.manual_seed(0)
    model = VICReg()
    start = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    for step in range(3):
        data = torch.randn(16, 12)
        x, y = data + 0.1 * torch.randn_like(data), data + 0.1 * torch.randn_like(data)
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(x, y)
        scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause
        scaler.step(opt)
        scaler.update()
        print(f"{step} loss {loss.item():.3f} norm {norm.item():.2f}")
    return model, start


def verify(out):
    model, start = out
    assert max((p - s).abs().max() for p, s in zip(model.parameters(), start)) < 1e-4


TRUTH = Truth(
    fault="clip_grad_norm_ before unscale_",
    names=("unscale_",),
    repair=("scaler.unscale_(opt)\nnorm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)",),
)
