"""Sentence classifier on padded sequences: the output at the last position is zero for every shorter sentence."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from tests.practice.truth import Truth


class SentimentLSTM(nn.Module):
    def __init__(self, vocab=30, emb=8, hidden=8, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=False)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, tokens, lengths):
        embedded = self.dropout(self.emb(tokens))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        output, (hidden, _) = self.lstm(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        return self.fc(output[:, -1]), hidden  # cause


def collate(batch):
    tokens, labels = zip(*batch)
    lengths = torch.tensor([len(t) for t in tokens])
    return pad_sequence(tokens, batch_first=True), lengths, torch.tensor(labels)


def make_data(n=12):
    gen = torch.Generator().manual_seed(0)
    for i in range(n):
        length = 9 if i % 4 == 0 else int(torch.randint(3, 8, (1,), generator=gen))
        words = (
            torch.randint(1, 15, (length,), generator=gen)
            if length < 9
            else torch.randint(15, 30, (length,), generator=gen)
        )
        yield words, int(words.sum() % 2)


def run():
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(list(make_data()), batch_size=4, collate_fn=collate)
    model = SentimentLSTM()
    start = model.emb.weight.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        model.train()
        correct = 0
        for tokens, lengths, labels in loader:
            opt.zero_grad()
            logits, _ = model(tokens, lengths)
            loss = F.cross_entropy(logits, labels)
            loss.backward()
            opt.step()
            correct += (logits.argmax(1) == labels).sum().item()
        print(f"epoch {epoch} loss {loss.item():.3f} acc {correct / 12:.2f}")
    return model, start


def verify(out):
    model, start = out
    assert torch.equal(model.emb.weight[1:15], start[1:15])  # the words of the shorter sentences


TRUTH = Truth(
    fault="shorter sequences are read at a padded position, which has no gradient",
    values=True,
    repair=("return self.fc(output[torch.arange(len(lengths)), lengths - 1]), hidden",),
)
