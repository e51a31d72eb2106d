"""NER with -100 for sub-words: a batch cut to a maximal length has no label left, the mean over nothing is NaN and ruins the weights."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

IGNORE = -100
MAX_LEN = 6
TAGS = ["O", "B-PER", "I-PER", "B-LOC"]


class BiLSTMTagger(nn.Module):
    def __init__(self, vocab=40, dim=8, n_tags=len(TAGS)):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * dim, n_tags)

    def forward(self, ids):
        h, _ = self.lstm(self.emb(ids))
        return self.out(h)


def encode(words, n_prompt):
    """The prompt in front gets no label, nor does any sub-word but the first."""
    ids = [39] * n_prompt
    labels = [IGNORE] * n_prompt
    for w in words:
        pieces = 1 + w % 2
        ids += [w] * pieces
        labels += [w % len(TAGS)] + [IGNORE] * (pieces - 1)
    return ids[:MAX_LEN], labels[:MAX_LEN]


def collate(samples):
    rows = [encode(*s) for s in samples]
    return torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])


def samples():
    g = torch.Generator().manual_seed(0)
    for n_prompt in (2, 3, 6, 2):
        yield [(torch.randint(1, 38, (6,), generator=g).tolist(), n_prompt) for _ in range(3)]


def masked_loss(logits, labels):
    mask = (labels != IGNORE).float()
    ce = nn.functional.cross_entropy(logits.transpose(1, 2), labels.clamp(min=0), reduction="none")
    return (ce * mask).sum() / mask.sum()  # cause


def run():
    torch.manual_seed(0)
    model = BiLSTMTagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for batch in samples():
        ids, labels = collate(batch)
        loss = masked_loss(model(ids), labels)  # also
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.out.weight.detach().clone()


def verify(outcome):
    losses, weight = outcome
    assert losses[0] == losses[0] and losses[1] == losses[1]
    assert losses[2] != losses[2] and torch.isnan(weight).any()


TRUTH = Truth(
    fault="in the third batch no label counts, so the masked mean is 0/0 = NaN, and the step makes all weights NaN",
    values=True,
    names=("mask",),
    repair=("return (ce * mask).sum() / mask.sum().clamp(min=1)",),
)
