"""Tasks weighted by learned variances; a batch may hold no label of a task, and its head is left alone then."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ELU())
        self.depth = nn.Linear(16, 1)
        self.semantic = nn.Linear(16, 4)
        self.log_vars = nn.ParameterDict(
            {"depth": nn.Parameter(torch.zeros(())), "semantic": nn.Parameter(torch.zeros(()))}
        )

    def forward(self, x):
        h = self.encoder(x)
        return {"depth": self.depth(h).squeeze(1), "semantic": self.semantic(h)}

    def loss(self, out, batch):
        total, parts = 0.0, {}
        seen = ~torch.isnan(batch["depth"])
        if seen.any():
            parts["depth"] = F.l1_loss(out["depth"][seen], batch["depth"][seen])
        if (batch["semantic"] != -100).any():
            parts["semantic"] = F.cross_entropy(out["semantic"], batch["semantic"], ignore_index=-100)
        for name, value in parts.items():
            total = total + torch.exp(-self.log_vars[name]) * value + self.log_vars[name]
        return total, {k: v.item() for k, v in parts.items()}


def batches():
    for depth, semantic in ((True, True), (True, False), (False, True), (True, True)):
        d = torch.randn(8) if depth else torch.full((8,), float("nan"))
        s = torch.randint(4, (8,)) if semantic else torch.full((8,), -100)
        if depth:
            d[:3] = float("nan")
        yield {"x": torch.randn(8, 8), "depth": d, "semantic": s}


def run():
    torch.manual_seed(0)
    model = MultiTask()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    touched, logs = [], []
    for batch in batches():
        loss, parts = model.loss(model(batch["x"]), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        touched.append((model.depth.weight.grad is not None, model.semantic.weight.grad is not None))
        logs.append(parts)
    return model, touched, logs


TRUTH = Truth()


def verify(out):
    model, touched, logs = out
    assert touched == [(True, True), (True, False), (False, True), (True, True)]
    assert all(torch.isfinite(p).all() for p in model.parameters())
    assert all(v.item() != 0 for v in model.log_vars.values())
