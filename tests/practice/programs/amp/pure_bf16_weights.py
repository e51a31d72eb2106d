"""Pure bf16 training: the weights themselves are bf16, and a fine-tuning learning rate is lost in rounding."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Whisperish(nn.Module):
    def __init__(self, mels=8, dim=16, vocab=20):
        super().__init__()
        self.conv = nn.Conv1d(mels, dim, 3, padding=1)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, x):
        return self.head(self.layer(F.gelu(self.conv(x)).transpose(1, 2)))


def pretrained():
    model = Whisperish()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.where(p >= 0, p.abs() + 0.05, -(p.abs() + 0.05)))
    return model


def finetune(model, steps=3, lr=1e-5):
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    sched = torch.optim.lr_scheduler.ConstantLR(opt, factor=1.0)
    dtype = next(model.parameters()).dtype
    for step in range(steps):
        x, y = torch.randn(4, 8, 12, dtype=dtype), torch.randint(0, 20, (4, 12))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(x)
        loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        print(f"step {step} loss {loss.item():.4f} grad norm {norm.item():.3f}")


def run():
    torch.manual_seed(0)
    model = pretrained()
    model = model.to(torch.bfloat16)  # cause
    start = [p.detach().clone() for p in model.parameters()]
    finetune(model)
    return list(model.parameters()), start


def verify(out):
    assert all(torch.equal(p, s) for p, s in zip(*out))


TRUTH = Truth(
    fault="updates are smaller than bf16 can add to the weights",
    names=("bfloat16",),
    values=True,
    repair=("pass  # the weights stay float32; autocast does the rest",),
)
