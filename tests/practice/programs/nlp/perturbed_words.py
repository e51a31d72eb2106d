"""Language: FGM training puts the clean embedding back after the optimizer has stepped, and so takes the step back."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

PAD, VOCAB, DIM, LABELS = 0, 30, 12, 3


class BagClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCAB, DIM, padding_idx=PAD)
        self.attention = nn.Linear(DIM, 1)
        self.classifier = nn.Sequential(nn.Linear(DIM, 16), nn.Tanh(), nn.Linear(16, LABELS))

    def forward(self, ids):
        h = self.word_embeddings(ids)
        score = self.attention(h).squeeze(-1).masked_fill(ids == PAD, -1e4)
        pooled = (score.softmax(-1).unsqueeze(-1) * h).sum(1)
        return self.classifier(pooled)


class FGM:
    """Fast gradient method on the embedding table."""

    def __init__(self, model, emb_name="word_embeddings", epsilon=0.5):
        self.model, self.emb_name, self.epsilon = model, emb_name, epsilon
        self.backup = {}

    def _tables(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad and self.emb_name in name:
                yield name, param

    def attack(self):
        for name, param in self._tables():
            self.backup[name] = param.data.clone()
            norm = torch.norm(param.grad)
            if norm != 0 and torch.isfinite(norm):
                param.data.add_(self.epsilon * param.grad / norm)

    def restore(self):
        for name, param in self._tables():
            param.data.copy_(self.backup[name])  # also
        self.backup = {}


def sentences(n=16, length=7):
    ids = torch.randint(1, VOCAB, (n, length))
    ids[:, -2:] = torch.where(torch.rand(n, 2) < 0.5, torch.zeros(n, 2, dtype=torch.long), ids[:, -2:])
    return ids, ids[:, 0] % LABELS


class AdversarialTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.fgm = FGM(model)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_step(self, ids, labels):
        loss = F.cross_entropy(self.model(ids), labels)
        loss.backward()
        self.fgm.attack()
        adversarial = F.cross_entropy(self.model(ids), labels)
        adversarial.backward()
        self.optimizer.step()  # cause
        self.fgm.restore()  # cause
        self.optimizer.zero_grad()
        return loss.item(), adversarial.item()


def run():
    torch.manual_seed(0)
    model = BagClassifier()
    trainer = AdversarialTrainer(model, lr=5e-2)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    for _ in range(4):
        trainer.train_step(*sentences())
    return start, model.state_dict()


def verify(outcome):
    start, end = outcome
    assert torch.equal(start["word_embeddings.weight"], end["word_embeddings.weight"])
    assert not torch.equal(start["attention.weight"], end["attention.weight"])


TRUTH = Truth(
    fault="restore() after optimizer.step() writes the backup over the embedding's update",
    names=("word_embeddings",),
    repair=("self.fgm.restore()", "self.optimizer.step()"),
)
