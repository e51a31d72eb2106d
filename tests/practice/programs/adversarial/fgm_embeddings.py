"""FGM on word embeddings: the backup is the parameter's own data, so restoring it restores nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FGM:
    def __init__(self, model):
        self.model = model
        self.backup = {}

    def attack(self, epsilon=0.5, emb_name="embedding"):
        for name, param in self.model.named_parameters():
            if param.requires_grad and emb_name in name:
                self.backup[name] = param.data  # cause
                norm = torch.norm(param.grad)
                if norm != 0:
                    param.data.add_(epsilon * param.grad / norm)  # also

    def restore(self, emb_name="embedding"):
        for name, param in self.model.named_parameters():
            if param.requires_grad and emb_name in name:
                param.data = self.backup[name]
        self.backup = {}


class TextClassifier(nn.Module):
    def __init__(self, vocab=30, dim=12):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, 8, batch_first=True, bidirectional=True)
        self.out = nn.Linear(16, 2)

    def forward(self, ids):
        h, _ = self.lstm(self.embedding(ids))
        return self.out(h.max(1).values)


def run():
    torch.manual_seed(0)
    model = TextClassifier()
    fgm = FGM(model)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    moved = []
    for step in range(3):
        ids, y = torch.randint(0, 30, (4, 7)), torch.randint(0, 2, (4,))
        clean = model.embedding.weight.detach().clone()
        loss = F.cross_entropy(model(ids), y)
        loss.backward()
        fgm.attack()
        loss_adv = F.cross_entropy(model(ids), y)
        loss_adv.backward()
        fgm.restore()
        moved.append((model.embedding.weight.detach() - clean).norm().item())
        opt.step()
        opt.zero_grad()
        print(f"{step} loss {loss.item():.4f} adv {loss_adv.item():.4f}")
    return moved


def verify(moved):
    assert min(moved) > 0.4


TRUTH = Truth(
    fault="the backup of the embedding shares memory with it: the perturbation stays",
    names=("backup",),
    repair=("self.backup[name] = param.data.clone()",),
)
