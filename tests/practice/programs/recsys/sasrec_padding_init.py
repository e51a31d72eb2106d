"""Recommenders: xavier init overwrites the padding row, which never gets a gradient that could repair it."""

from dataclasses import dataclass

import torch
import torch.nn as nn
from tests.practice.truth import Truth


@dataclass
class Args:
    maxlen: int = 8
    hidden_units: int = 12
    num_blocks: int = 2
    num_heads: int = 2
    dropout_rate: float = 0.1
    lr: float = 1e-2
    l2_emb: float = 0.0
    usernum: int = 16
    itemnum: int = 20


class PointWiseFeedForward(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(d, d, 1), nn.Conv1d(d, d, 1)
        self.dropout = nn.Dropout(p)

    def forward(self, x):
        h = self.dropout(self.conv2(torch.relu(self.conv1(x.transpose(-1, -2))))).transpose(-1, -2)
        return x + h


class SASRec(nn.Module):
    def __init__(self, args):
        super().__init__()
        d = args.hidden_units
        self.item_emb = nn.Embedding(args.itemnum + 1, d, padding_idx=0)
        self.pos_emb = nn.Embedding(args.maxlen + 1, d, padding_idx=0)
        self.emb_dropout = nn.Dropout(args.dropout_rate)
        self.attn_norms = nn.ModuleList(nn.LayerNorm(d, eps=1e-8) for _ in range(args.num_blocks))
        self.attns = nn.ModuleList(
            nn.MultiheadAttention(d, args.num_heads, args.dropout_rate, batch_first=True)
            for _ in range(args.num_blocks)
        )
        self.ffs = nn.ModuleList(PointWiseFeedForward(d, args.dropout_rate) for _ in range(args.num_blocks))
        self.last_norm = nn.LayerNorm(d, eps=1e-8)

    def log2feats(self, seqs):
        x = self.item_emb(seqs) * self.item_emb.embedding_dim**0.5
        pos = torch.arange(1, seqs.size(1) + 1).expand_as(seqs) * (seqs != 0)
        x = self.emb_dropout(x + self.pos_emb(pos))
        causal = ~torch.tril(torch.ones(seqs.size(1), seqs.size(1), dtype=torch.bool))
        for norm, attn, ff in zip(self.attn_norms, self.attns, self.ffs):
            q = norm(x)
            x = q + attn(q, x, x, attn_mask=causal, need_weights=False)[0]
            x = ff(x)
        return self.last_norm(x)

    def forward(self, seqs, pos, neg):
        feats = self.log2feats(seqs)
        return (feats * self.item_emb(pos)).sum(-1), (feats * self.item_emb(neg)).sum(-1)


def init_weights(model):
    for name, param in model.named_parameters():
        if param.dim() > 1:
            nn.init.xavier_normal_(param.data)  # cause
    return model


class WarpSampler:
    def __init__(self, args):
        self.args = args
        lengths = torch.randint(3, args.maxlen, (args.usernum,)).tolist()
        self.histories = [torch.randint(1, args.itemnum + 1, (n + 1,)) for n in lengths]

    def next_batch(self, n=8):
        seq, pos, neg = (torch.zeros(n, self.args.maxlen, dtype=torch.long) for _ in range(3))
        for row, u in enumerate(torch.randint(self.args.usernum, (n,)).tolist()):
            h = self.histories[u]
            k = len(h) - 1
            seq[row, -k:], pos[row, -k:] = h[:-1], h[1:]
            neg[row, -k:] = torch.randint(1, self.args.itemnum + 1, (k,))
        return seq, pos, neg


def train(model, sampler, args, steps):
    bce = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    model.train()
    for _ in range(steps):
        seq, pos, neg = sampler.next_batch()
        pos_logits, neg_logits = model(seq, pos, neg)
        optimizer.zero_grad()
        keep = pos != 0
        loss = bce(pos_logits[keep], torch.ones_like(pos_logits[keep]))
        loss = loss + bce(neg_logits[keep], torch.zeros_like(neg_logits[keep]))
        loss = loss + args.l2_emb * model.item_emb.weight.norm()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    args = Args()
    model = init_weights(SASRec(args))
    before = model.item_emb.weight.detach().clone()
    train(model, WarpSampler(args), args, steps=4)
    return before, model.item_emb.weight.detach()


def verify(outcome):
    before, after = outcome
    assert after[0].abs().max() > 1e-3
    assert torch.equal(before[0], after[0]) and not torch.equal(before[1:], after[1:])


TRUTH = Truth(
    fault="the init fills the row of padding_idx=0, which gets no gradients: padding enters attention as a fixed random item",
    names=("item_emb",),
    values=True,
    repair=("nn.init.xavier_normal_(param.data)\nif name.endswith('emb.weight'):\n    param.data[0] = 0",),
)
