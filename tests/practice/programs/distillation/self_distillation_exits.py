"""Self-distillation: early exits learn from the deepest one, whose logits are cut off for them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MultiExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 16)])
        self.exits = nn.ModuleList([nn.Linear(16, 4) for _ in range(3)])

    def forward(self, x):
        outs, feats = [], []
        for stage, head in zip(self.stages, self.exits):
            x = F.relu(stage(x))
            feats.append(x)
            outs.append(head(x))
        return outs, feats

    @torch.no_grad()
    def predict(self, x, threshold):
        used = 0
        for stage, head in zip(self.stages, self.exits):
            x, used = F.relu(stage(x)), used + 1
            p = head(x).softmax(-1)
            if p.max().item() > threshold:
                break
        return p, used


def run():
    torch.manual_seed(0)
    model = MultiExit()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    parts = []
    for _ in range(4):
        x, y = torch.randn(8, 8), torch.randint(4, (8,))
        outs, feats = model(x)
        final = outs[-1]
        teacher = (final.detach() / 3).softmax(-1)
        loss = F.cross_entropy(final, y)
        for out, feat in zip(outs[:-1], feats[:-1]):
            loss = loss + 0.7 * F.cross_entropy(out, y)
            loss = loss + 0.3 * 9 * F.kl_div((out / 3).log_softmax(-1), teacher, reduction="batchmean")
            loss = loss + 0.03 * (feat - feats[-1].detach()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        parts.append(loss.item())
    return model, parts, model.predict(torch.randn(1, 8), 0.3)


TRUTH = Truth()


def verify(out):
    model, parts, (p, used) = out
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
    assert 1 <= used <= 3 and not p.requires_grad and parts[-1] < 100
