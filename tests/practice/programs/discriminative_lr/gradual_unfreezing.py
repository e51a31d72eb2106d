"""ULMFiT-like fine-tuning: tied weights, layers released one a step by add_param_group, frozen ones without gradients. Healthy."""
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LegalLM(nn.Module):
    def __init__(self, vocab=26, dim=12, depth=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(nn.GRU(dim, dim, batch_first=True) for _ in range(depth))
        self.decoder = nn.Linear(dim, vocab)
        self.decoder.weight = self.embed.weight

    def forward(self, ids):
        h = self.embed(ids)
        for layer in self.layers:
            h = h + layer(h)[0]
        return self.decoder(h)


class GradualUnfreezer:
    def __init__(self, model, lr=5e-3, factor=2.6):
        self.model, self.lr, self.factor = model, lr, factor
        self.waiting = list(model.layers)
        model.requires_grad_(False)
        model.decoder.requires_grad_(True)
        self.optimizer = torch.optim.Adam(model.decoder.parameters(), lr=lr)

    def release(self):
        if not self.waiting:
            return
        layer = self.waiting.pop()
        self.lr /= self.factor
        layer.requires_grad_(True)
        self.optimizer.add_param_group({"params": layer.parameters(), "lr": self.lr})

    def trainable(self):
        return {n for n, p in self.model.named_parameters() if p.requires_grad}


def clauses(n, length=9):
    return (torch.arange(length) * 3 + torch.randint(26, (n, 1))) % 26


def run():
    torch.manual_seed(0)
    model = LegalLM()
    tuner = GradualUnfreezer(model)
    ids = clauses(16)
    moved, losses = [], []
    for _ in range(4):
        before = {n: p.detach().clone() for n, p in model.named_parameters()}
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        tuner.optimizer.zero_grad()
        loss.backward()
        tuner.optimizer.step()
        changed = {n for n, p in model.named_parameters() if not torch.equal(before[n], p)}
        moved.append(changed == tuner.trainable())
        losses.append(loss.item())
        tuner.release()
    return moved, losses, len(tuner.trainable())


def verify(outcome):
    moved, losses, trainable = outcome
    assert all(moved)
    assert losses[-1] < losses[0]
    assert trainable == 2 + 3 * 4


TRUTH = Truth()
