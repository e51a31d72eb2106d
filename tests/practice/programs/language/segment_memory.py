"""Language model over long documents, one segment at a time, with a memory of past segments."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class MemoryBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, mem):
        ctx = x if mem is None else torch.cat([mem, x], dim=1)
        h = x + self.attn(x, ctx, ctx, need_weights=False)[0]
        return h + self.ff(h)


class SegmentLM(nn.Module):
    def __init__(self, vocab=30, dim=16, depth=2, mem_len=6):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(MemoryBlock(dim) for _ in range(depth))
        self.out = nn.Linear(dim, vocab)
        self.mem_len = mem_len

    def _update_mems(self, old, hiddens):
        mems = []
        for m, h in zip(old, hiddens):
            full = h if m is None else torch.cat([m, h], dim=1)
            mems.append(full[:, -self.mem_len :])  # cause
        return mems

    def forward(self, ids, mems=None):
        mems = mems or [None] * len(self.blocks)
        x, hiddens = self.tok(ids), []
        for block, mem in zip(self.blocks, mems):
            hiddens.append(x)
            x = block(x, mem)
        return self.out(x), self._update_mems(mems, hiddens)


def train_document(model, opt, doc, seg=5):
    mems, losses = None, []
    for i in range(0, doc.size(1) - seg, seg):
        ids, tgt = doc[:, i : i + seg], doc[:, i + 1 : i + seg + 1]
        logits, mems = model(ids, mems)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    model = SegmentLM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    doc = torch.randint(0, 30, (3, 26))
    return train_document(model, opt, doc)


TRUTH = Truth(
    fault="memory of the last segment keeps its graph",
    raises="Trying to backward through the graph a second time",
    names=("mems",),
    repair=("mems.append(full[:, -self.mem_len:].detach())",),
)


def well(out):
    assert len(out) == 5
