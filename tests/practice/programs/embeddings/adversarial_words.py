"""FGM on word embeddings: the embedded batch is no leaf, nothing asks it to keep its gradient, and `.grad` is None."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SentenceClassifier(nn.Module):
    def __init__(self, vocab=30, dim=8, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.fc = nn.Linear(dim, classes)

    def embed(self, ids):
        return F.layer_norm(self.emb(ids), (self.emb.embedding_dim,))

    def forward(self, embedded):
        _, h = self.gru(embedded)
        return self.fc(h[0])


class FGM:
    """Fast gradient method in embedding space."""

    def __init__(self, model, epsilon=0.5):
        self.model, self.epsilon = model, epsilon

    def losses(self, ids, labels):
        clean = self.model.embed(ids)  # cause
        loss = F.cross_entropy(self.model(clean), labels)
        loss.backward()
        grad = clean.grad.detach()  # symptom
        norm = grad.flatten(1).norm(dim=1).clamp(min=1e-12)
        noise = self.epsilon * grad / norm[:, None, None]
        attacked = F.cross_entropy(self.model(self.model.embed(ids) + noise), labels)
        attacked.backward()
        return loss.item(), attacked.item()


def run():
    torch.manual_seed(0)
    model = SentenceClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    attack = FGM(model)
    for step in range(2):
        ids = torch.randint(0, 30, (8, 6))
        labels = (ids.float().mean(1) > 15).long()
        opt.zero_grad()
        clean, attacked = attack.losses(ids, labels)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        print(f"step {step} clean {clean:.4f} attacked {attacked:.4f}")
    return model


TRUTH = Truth(
    fault="the gradient of a tensor that is no leaf is not kept",
    raises="'NoneType' object has no attribute 'detach'",
    names=("clean",),
    repair=("clean = self.model.embed(ids)\nclean.retain_grad()",),
)
