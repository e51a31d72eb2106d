"""Accelerate: `loss.backward()` in place of `accelerator.backward(loss)`, so the accumulated gradient is not divided."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, vocab=30, dim=16, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 2 * dim, dropout=0.0, batch_first=True)
        self.classifier = nn.Linear(dim, classes)

    def forward(self, input_ids, labels=None):
        h = self.layer(self.emb(input_ids))
        logits = self.classifier(h[:, 0])
        return (F.cross_entropy(logits, labels) if labels is not None else None), logits


def evaluate(accelerator, model, loader):
    model.eval()
    right = total = 0
    for input_ids, labels in loader:
        with torch.no_grad():
            _, logits = model(input_ids)
        pred, ref = accelerator.gather_for_metrics((logits.argmax(-1), labels))
        right += (pred == ref).sum().item()
        total += len(ref)
    model.train()
    return right / total


def run():
    torch.manual_seed(42)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    data = TensorDataset(torch.randint(0, 30, (16, 6)), torch.randint(0, 3, (16,)))
    model = Encoder()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=4)
    model, opt, loader, sched = accelerator.prepare(model, opt, DataLoader(data, batch_size=2), sched)
    norms = []
    for epoch in range(1):
        model.train()
        for batch in loader:
            with accelerator.accumulate(model):
                loss, _ = model(*batch)
                loss.backward()  # cause
                if accelerator.sync_gradients:
                    norms.append((loss.item(), accelerator.clip_grad_norm_(model.parameters(), 100.0).item()))
                opt.step()
                sched.step()
                opt.zero_grad()
        accelerator.print(f"epoch {epoch} acc {evaluate(accelerator, model, loader):.2f} {norms}")
    accelerator.free_memory()
    return norms


def verify(out):
    assert out[0][1] > 3.0  # four micro-batches' gradients added up; their mean is near one


TRUTH = Truth(
    fault="the accumulated gradients are summed, not averaged",
    names=("backward",),
    repair=("accelerator.backward(loss)",),
)
