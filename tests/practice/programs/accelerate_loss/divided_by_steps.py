"""accelerate: a loop that accumulated by hand was ported; the division of the loss by the steps has stayed."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class DepthNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enc1 = nn.Conv2d(3, width, 3, 2, 1)
        self.enc2 = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.dec1 = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.dec2 = nn.ConvTranspose2d(2 * width, 1, 2, 2)

    def forward(self, x):
        a = F.elu(self.enc1(x))
        b = F.elu(self.enc2(a))
        return self.dec2(torch.cat([F.elu(self.dec1(b)), a], 1))


def smooth_depth_loss(pred, depth):
    gx = (pred[..., 1:] - pred[..., :-1]) - (depth[..., 1:] - depth[..., :-1])
    return F.l1_loss(pred, depth) + 0.5 * gx.abs().mean()


def train(model, loader, args):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args["accumulation_steps"])
    optimizer = torch.optim.SGD(model.parameters(), lr=args["lr"], momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    norms = []
    model.train()
    for images, depth in loader:
        with accelerator.accumulate(model):
            loss = smooth_depth_loss(model(images), depth)
            loss = loss / args["accumulation_steps"]  # cause
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norms.append(accelerator.clip_grad_norm_(model.parameters(), 10.0).item())
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    return norms


def build(seed):
    torch.manual_seed(seed)
    return DepthNet()


def run():
    args = {"accumulation_steps": 4, "lr": 0.05, "batch_size": 2}
    model = build(0)
    data = TensorDataset(torch.rand(24, 3, 16, 16), torch.rand(24, 1, 16, 16))
    norms = train(model, DataLoader(data, batch_size=args["batch_size"]), args)
    whole, images, depth = build(0), *data[:8]
    smooth_depth_loss(whole(images), depth).backward()
    expected = nn.utils.get_total_norm([p.grad for p in whole.parameters()]).item()
    return len(norms), norms[0] / expected


def verify(outcome):
    steps, ratio = outcome
    assert steps == 3 and ratio < 0.3, outcome


TRUTH = Truth(
    fault="accelerator.backward divides the loss by the accumulation steps already: gradients are four times too small",
    names=("accelerator.backward", "loss"),
    repair=("accelerator.log({'loss': loss.item()})",),
)
