"""Padded sequences are packed, padding is ignored by the loss and by the embedding, whose row zero never learns."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from tests.practice.truth import Truth


class Tagger(nn.Module):
    def __init__(self, vocab, tags):
        super().__init__()
        self.embedding = nn.Embedding(vocab, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 6, bidirectional=True, batch_first=True)
        self.tag = nn.Linear(12, tags)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths.cpu(), batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.shape[1])
        return self.tag(out)


@torch.no_grad()
def accuracy(model, x, y, lengths):
    model.eval()
    pred = model(x, lengths).argmax(-1)
    keep = y != -1
    model.train()
    return (pred[keep] == y[keep]).float().mean().item()


def run():
    torch.manual_seed(0)
    model = Tagger(15, 4)
    criterion = nn.CrossEntropyLoss(ignore_index=-1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    accs, losses = [], []
    for _ in range(3):
        sents = [torch.randint(1, 15, (n,)) for n in (5, 2, 4)]
        lengths = torch.tensor([len(s) for s in sents])
        x = pad_sequence(sents, batch_first=True)
        y = pad_sequence([s % 4 for s in sents], batch_first=True, padding_value=-1)
        loss = criterion(model(x, lengths).transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())
        accs.append(accuracy(model, x, y, lengths))
        losses.append(loss.item())
    return model, accs, losses


TRUTH = Truth()


def verify(out):
    model, accs, losses = out
    assert model.embedding.weight[0].abs().sum() == 0
    assert all(p.grad.abs().sum() > 0 for p in model.parameters()) and model.training
    assert all(0 <= a <= 1 for a in accs) and losses[-1] < 10
