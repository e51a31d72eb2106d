"""fastai-like gradual unfreezing: the optimizer took what was trainable at first; layer groups thawed later are not in it."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class TextClassifier(nn.Module):
    def __init__(self, vocab=30, dim=12, classes=3):
        super().__init__()
        self.encoder = nn.Embedding(vocab, dim)
        self.rnns = nn.ModuleList([nn.GRU(dim, dim, batch_first=True), nn.GRU(dim, dim, batch_first=True)])
        self.decoder = nn.Sequential(nn.BatchNorm1d(dim), nn.Linear(dim, classes))

    def forward(self, ids):
        x = self.encoder(ids)
        for rnn in self.rnns:
            x, _ = rnn(x)
        return self.decoder(x.max(1).values)


class Learner:
    def __init__(self, model, groups, lr=5e-3):
        self.model, self.groups, self.lr = model, groups, lr
        self.opt = None

    def freeze_to(self, n):
        """Layer groups from n on are trainable."""
        count = len(self.groups)
        first = n % count
        for i, group in enumerate(self.groups):
            for module in group:
                module.requires_grad_(i >= first)

    def freeze(self):
        self.freeze_to(-1)

    def create_opt(self):
        trainable = [p for p in self.model.parameters() if p.requires_grad]
        self.opt = torch.optim.AdamW(trainable, lr=self.lr, betas=(0.7, 0.99))

    def fit_one_cycle(self, batches):
        if self.opt is None:  # cause
            self.create_opt()
        schedule = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda s: 1 - s / (2 * len(batches)))
        self.model.train()
        for ids, y in batches:
            self.opt.zero_grad()
            F.cross_entropy(self.model(ids), y).backward()
            self.opt.step()
            schedule.step()


def run():
    torch.manual_seed(0)
    model = TextClassifier()
    learner = Learner(model, [[model.encoder], [model.rnns[0]], [model.rnns[1]], [model.decoder]])
    batches = [(torch.randint(0, 30, (8, 5)), torch.randint(0, 3, (8,))) for _ in range(2)]
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    learner.freeze()
    learner.fit_one_cycle(batches)
    for n in (-2, -3):
        learner.freeze_to(n)
        learner.fit_one_cycle(batches)
    grads = {n for n, p in model.named_parameters() if p.grad is not None}
    return grads, {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    grads, moved = outcome
    assert "rnns.1.weight_ih_l0" in grads and moved["rnns.1.weight_ih_l0"] == 0.0
    assert moved["decoder.1.weight"] > 0.0


TRUTH = Truth(
    fault="the optimizer of the first stage is kept: rnns are thawed and get gradients (never cleared), but no step",
    names=("rnns",),
    repair=("if True:  # new stage, new optimizer",),
)
