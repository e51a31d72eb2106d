"""ULMFiT-like, and right: layers are thawed one by one and join the optimizer by add_param_group, with rates of their own."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class AWDClassifier(nn.Module):
    def __init__(self, vocab=30, dim=12, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=1)
        self.rnn1, self.rnn2 = nn.LSTM(dim, dim, batch_first=True), nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(2 * dim, classes)

    def train(self, mode=True):
        super().train(mode)
        for layer in (self.embedding, self.rnn1, self.rnn2):
            if not any(p.requires_grad for p in layer.parameters()):
                layer.eval()
        return self

    def forward(self, ids):
        x, _ = self.rnn1(self.embedding(ids))
        x, _ = self.rnn2(x)
        return self.head(torch.cat([x.mean(1), x.max(1).values], 1))


class GradualUnfreezing:
    def __init__(self, model, lr=1e-2, decay=2.6):
        self.model, self.lr, self.decay = model, lr, decay
        self.waiting = [model.embedding, model.rnn1, model.rnn2]
        for layer in self.waiting:
            layer.requires_grad_(False)
        self.optimizer = torch.optim.Adam(model.head.parameters(), lr=lr, betas=(0.7, 0.99))

    def on_epoch_end(self):
        if not self.waiting:
            return
        layer = self.waiting.pop()
        layer.requires_grad_(True)
        depth = len(self.optimizer.param_groups)
        self.optimizer.add_param_group({"params": layer.parameters(), "lr": self.lr / self.decay**depth})


def run():
    torch.manual_seed(0)
    model = AWDClassifier()
    schedule = GradualUnfreezing(model)
    batches = [(torch.randint(2, 30, (8, 6)), torch.randint(0, 3, (8,))) for _ in range(2)]
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    trainable = []
    for _ in range(4):
        model.train()
        for ids, y in batches:
            schedule.optimizer.zero_grad()
            F.cross_entropy(model(ids), y).backward()
            nn.utils.clip_grad_norm_([p for g in schedule.optimizer.param_groups for p in g["params"]], 0.5)
            schedule.optimizer.step()
        trainable.append(sum(p.requires_grad for p in model.parameters()))
        schedule.on_epoch_end()
    return trainable, {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    trainable, moved = outcome
    assert trainable == [2, 6, 10, 11]
    assert all(v > 0 for v in moved.values())


TRUTH = Truth()
