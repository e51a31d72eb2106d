"""Transformer-XL: keys of the previous segment come from a detached memory; one segment's graph never reaches into the last."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class XLBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)

    def forward(self, x, mem):
        ctx = torch.cat([mem, x], 1)
        k, v = self.kv(ctx).chunk(2, -1)
        scores = self.q(x) @ k.transpose(1, 2) / x.shape[-1] ** 0.5
        mask = torch.ones(x.shape[1], ctx.shape[1], dtype=torch.bool).triu(1 + mem.shape[1])
        scores.masked_fill_(mask, float("-inf"))
        return x + self.o(scores.softmax(-1) @ v)


class TransformerXL(nn.Module):
    def __init__(self, vocab=9, dim=8, layers=2, memory=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([XLBlock(dim) for _ in range(layers)])
        self.out = nn.Linear(dim, vocab)
        self.memory = memory

    def forward(self, ids, mems=None):
        x = self.embed(ids)
        mems = mems or [x.new_zeros(len(x), 0, x.shape[-1]) for _ in self.blocks]
        hidden = []
        for block, mem in zip(self.blocks, mems):
            hidden.append(x)
            x = block(x, mem)
        with torch.no_grad():
            mems = [torch.cat([m, h], 1)[:, -self.memory :].detach() for m, h in zip(mems, hidden)]
        return self.out(x), mems


def run():
    torch.manual_seed(0)
    model = TransformerXL()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    stream = torch.randint(9, (2, 16))
    mems, log = None, []
    for at in range(0, 15, 5):
        state = {k: v.clone() for k, v in model.state_dict().items()}
        given = mems
        logits, mems = model(stream[:, at : at + 5], mems)
        loss = F.cross_entropy(logits.flatten(0, 1), stream[:, at + 1 : at + 6].flatten())
        opt.zero_grad()
        loss.backward()
        log.append((state, given, at, {n: p.grad.clone() for n, p in model.named_parameters()}))
        opt.step()
    return model, stream, log


def verify(outcome):
    model, stream, log = outcome
    for state, mems, at, grads in log:
        p = {k: v.clone().requires_grad_() for k, v in state.items()}
        x = p["embed.weight"][stream[:, at : at + 5]]
        for i in range(2):
            lin = lambda n, t: F.linear(t, p[f"blocks.{i}.{n}.weight"], p[f"blocks.{i}.{n}.bias"])
            rows, mem = [], mems[i] if mems else x[:, :0]
            for t in range(5):  # position by position instead of with a mask
                k, v = lin("kv", torch.cat([mem, x[:, : t + 1]], 1)).chunk(2, -1)
                a = torch.einsum("bd,bkd->bk", lin("q", x[:, t]), k).div(8**0.5).softmax(-1)
                rows.append(x[:, t] + lin("o", torch.einsum("bk,bkd->bd", a, v)))
            x = torch.stack(rows, 1)
        loss = F.cross_entropy(
            F.linear(x, p["out.weight"], p["out.bias"]).flatten(0, 1), stream[:, at + 1 : at + 6].flatten()
        )
        for (n, _), g in zip(p.items(), torch.autograd.grad(loss, list(p.values()))):
            assert torch.allclose(g, grads[n], atol=1e-5), n
    assert all(not torch.equal(v, log[0][0][k]) for k, v in model.state_dict().items())


TRUTH = Truth()
