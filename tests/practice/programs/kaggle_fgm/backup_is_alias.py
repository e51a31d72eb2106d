"""FGM adversarial training: the backup of the embedding is an alias, so restore() restores nothing and the noise stays in."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class FGM:
    def __init__(self, model, eps=0.5, emb_name="word_embeddings"):
        self.model = model
        self.eps = eps
        self.emb_name = emb_name
        self.backup = {}

    def attack(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad and self.emb_name in name:
                self.backup[name] = param.data  # cause
                norm = torch.norm(param.grad)
                if norm != 0:
                    param.data.add_(self.eps * param.grad / norm)

    def restore(self):
        for name, param in self.model.named_parameters():
            if name in self.backup:
                param.data = self.backup[name]
        self.backup = {}


class TextCNN(nn.Module):
    def __init__(self, vocab=25, dim=6):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, dim)
        self.convs = nn.ModuleList(nn.Conv1d(dim, 4, k) for k in (2, 3))
        self.fc = nn.Linear(8, 2)

    def forward(self, ids):
        x = self.word_embeddings(ids).transpose(1, 2)
        x = [F.relu(c(x)).amax(-1) for c in self.convs]
        return self.fc(torch.cat(x, 1))


def train_fn(model, fgm, optimizer, batches):
    drift = []
    for ids, label in batches:
        optimizer.zero_grad()
        F.cross_entropy(model(ids), label).backward()
        emb = model.word_embeddings.weight
        clean = emb.detach().clone()
        fgm.attack()
        F.cross_entropy(model(ids), label).backward()  # adds the adversarial gradient
        fgm.restore()
        drift.append((emb.detach() - clean).norm().item())
        optimizer.step()
    return drift


def run():
    torch.manual_seed(0)
    model = TextCNN()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = [(torch.randint(0, 25, (6, 7)), torch.arange(6) % 2) for _ in range(3)]
    return train_fn(model, FGM(model), optimizer, batches)


def verify(drift):
    assert all(abs(d - 0.5) < 1e-3 for d in drift), drift


TRUTH = Truth(
    fault="the backup shares its memory with the parameter, so the adversarial noise is never taken back out of the embedding",
    names=("word_embeddings", "backup"),
    repair=("self.backup[name] = param.data.clone()",),
)
