"""SASRec-like: the weights are initialised after nn.Embedding zeroed its padding row, which is random from then on and gets no gradient."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class SASRec(nn.Module):
    def __init__(self, items=20, maxlen=6, dim=12):
        super().__init__()
        self.item_emb = nn.Embedding(items + 1, dim, padding_idx=0)
        self.pos_emb = nn.Embedding(maxlen, dim)
        self.attn_norm, self.ffn_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))
        self.ffn = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(mean=0.0, std=0.1)  # cause
        if isinstance(module, nn.Linear):
            module.bias.data.zero_()

    def log2feats(self, seqs):
        x = self.item_emb(seqs) * self.item_emb.embedding_dim**0.5 + self.pos_emb(torch.arange(seqs.shape[1]))
        h = self.attn_norm(x)
        x = x + F.scaled_dot_product_attention(self.q(h), self.k(x), self.v(x), is_causal=True)
        return x + self.ffn(self.ffn_norm(x))

    def forward(self, seqs, pos, neg):
        feats = self.log2feats(seqs)
        return (feats * self.item_emb(pos)).sum(-1), (feats * self.item_emb(neg)).sum(-1)


class WarpSampler:
    def __init__(self, users=16, items=20, maxlen=6):
        self.histories = [torch.randint(1, items + 1, (int(torch.randint(3, maxlen + 2, ())),)) for _ in range(users)]
        self.items, self.maxlen = items, maxlen

    def next_batch(self, size=8):
        seqs, pos = torch.zeros(2, size, self.maxlen, dtype=torch.long)
        for row, u in enumerate(torch.randint(0, len(self.histories), (size,)).tolist()):
            h = self.histories[u][-(self.maxlen + 1) :]
            seqs[row, self.maxlen - len(h) + 1 :] = h[:-1]
            pos[row, self.maxlen - len(h) + 1 :] = h[1:]
        return seqs, pos, torch.randint(1, self.items + 1, pos.shape) * (pos > 0)


def run():
    torch.manual_seed(0)
    model, sampler = SASRec(), WarpSampler()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.98))
    start = model.item_emb.weight.detach().clone()
    for _ in range(3):
        seqs, pos, neg = sampler.next_batch()
        pos_logits, neg_logits = model(seqs, pos, neg)
        keep = pos > 0
        loss = -(F.logsigmoid(pos_logits[keep]) + F.logsigmoid(-neg_logits[keep])).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.item_emb.weight[0].detach().clone(), (model.item_emb.weight.detach() - start)[1:].abs().max().item()


def verify(outcome):
    pad, moved = outcome
    assert pad.abs().max() > 1e-3
    assert moved > 0


TRUTH = Truth(
    fault="normal_() overwrites the zero row of padding_idx: padding is a random vector that no gradient ever changes",
    names=("item_emb",),
    repair=(
        'module.weight.data.normal_(mean=0.0, std=0.1)\nif getattr(module, "padding_idx", None) is not None:\n    module.weight.data[module.padding_idx].zero_()',
    ),
)
