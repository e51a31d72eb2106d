"""Fine-tuning: layers are unfrozen one by one, but the optimizer was given only what was trainable at the start."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class WeightDropLSTM(nn.Module):
    def __init__(self, inputs, hidden, weight_p=0.2):
        super().__init__()
        self.cell = nn.LSTM(inputs, hidden, batch_first=True)
        self.weight_p = weight_p

    def forward(self, x):
        return self.cell(F.dropout(x, self.weight_p, self.training))[0]


class AWDEncoder(nn.Module):
    def __init__(self, vocab=30, emb=10, hidden=12, layers=2):
        super().__init__()
        self.encoder = nn.Embedding(vocab, emb)
        self.rnns = nn.ModuleList(WeightDropLSTM(emb if i == 0 else hidden, hidden) for i in range(layers))

    def forward(self, ids):
        x = self.encoder(ids)
        for rnn in self.rnns:
            x = rnn(x)
        return x


class PoolingClassifier(nn.Module):
    def __init__(self, hidden=12, classes=3):
        super().__init__()
        self.layers = nn.Sequential(
            nn.BatchNorm1d(3 * hidden),
            nn.Dropout(0.1),
            nn.Linear(3 * hidden, 16),
            nn.ReLU(True),
            nn.Linear(16, classes),
        )

    def forward(self, x):
        return self.layers(torch.cat([x[:, -1], x.max(1).values, x.mean(1)], 1))


class Learner:
    def __init__(self, encoder, head, lr=1e-2):
        self.model = nn.Sequential(encoder, head)
        self.layer_groups = [encoder.encoder, *encoder.rnns, head]
        self.lr = lr
        self.freeze_to(-1)
        self.create_opt()

    def freeze_to(self, n):
        n = n if n >= 0 else len(self.layer_groups) + n
        for i, group in enumerate(self.layer_groups):
            group.requires_grad_(i >= n)

    def create_opt(self):
        groups = []
        for depth, group in enumerate(reversed(self.layer_groups)):
            params = [p for p in group.parameters() if p.requires_grad]  # cause
            if params:
                groups.append({"params": params, "lr": self.lr / 2.6**depth})
        self.max_lr = [g["lr"] for g in groups]
        self.opt = torch.optim.Adam(groups, betas=(0.9, 0.99))

    def fit_one_cycle(self, batches):
        sched = torch.optim.lr_scheduler.OneCycleLR(self.opt, self.max_lr, total_steps=len(batches) + 1)
        self.model.train()
        for x, y in batches:
            loss = F.cross_entropy(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            sched.step()
        return loss.item()

    @torch.no_grad()
    def validate(self, batches):
        self.model.eval()
        return sum((self.model(x).argmax(1) == y).float().mean().item() for x, y in batches) / len(batches)


def run():
    torch.manual_seed(7)
    encoder = AWDEncoder()
    learner = Learner(encoder, PoolingClassifier())
    batches = [(torch.randint(0, 30, (6, 8)), torch.randint(0, 3, (6,))) for _ in range(2)]
    start = {n: p.detach().clone() for n, p in encoder.named_parameters()}
    for depth in (-1, -2, -3, 0):
        learner.freeze_to(depth)
        learner.fit_one_cycle(batches)
        learner.validate(batches)
    return {n: torch.equal(start[n], p) for n, p in encoder.named_parameters()}


def verify(still):
    assert all(still.values())


TRUTH = Truth(
    fault="unfrozen layers are in no optimizer: it was made while they were frozen",
    names=("rnns", "encoder"),
    repair=("params = list(group.parameters())",),
)
