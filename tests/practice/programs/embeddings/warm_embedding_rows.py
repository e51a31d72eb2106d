"""New tokens are learned alone: a hook masks the gradient of the old rows, weight decay is off."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Tagger(nn.Module):
    def __init__(self, vocab=14, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, 3)

    def forward(self, ids, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        h, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(h)


def run():
    torch.manual_seed(0)
    model = Tagger()
    model.rnn.requires_grad_(False)
    old = torch.arange(14) < 10
    handle = model.embed.weight.register_hook(lambda g: g.masked_fill(old[:, None], 0.0))
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(3):
        lengths = torch.tensor([6, 4, 5])
        ids = torch.randint(1, 14, (3, 6))
        ids[torch.arange(6)[None] >= lengths[:, None]] = 0
        tags = torch.randint(3, (3, 6)).masked_fill(ids == 0, -100)
        loss = nn.functional.cross_entropy(model(ids, lengths).transpose(1, 2), tags)
        model.zero_grad()
        loss.backward()
        optimizer.step()
    handle.remove()
    return loss.item()


TRUTH = Truth()
