"""Language: parameters are sorted into decay and no decay by type of layer; a norm written by hand is in neither list."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM = 20, 16


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.scale


class GatedBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RMSNorm(DIM)
        self.mix = nn.Linear(DIM, DIM, bias=False)
        self.gate, self.up, self.down = nn.Linear(DIM, 24), nn.Linear(DIM, 24), nn.Linear(24, DIM)

    def forward(self, x):
        h = self.norm(x)
        past = self.mix(h).cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]
        return x + self.down(F.silu(self.gate(past)) * self.up(h))


class GPT(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList([GatedBlock() for _ in range(depth)])
        self.final = RMSNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        x = self.wte(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final(x))

    def configure_optimizers(self, lr, weight_decay):
        decay, no_decay = set(), set()
        for mn, m in self.named_modules():
            for pn, _ in m.named_parameters(recurse=False):
                name = f"{mn}.{pn}" if mn else pn
                if pn.endswith("bias"):
                    no_decay.add(name)
                elif isinstance(m, nn.Linear):
                    decay.add(name)
                elif isinstance(m, (nn.LayerNorm, nn.Embedding)):  # cause
                    no_decay.add(name)
        params = dict(self.named_parameters())
        groups = [
            {"params": [params[n] for n in sorted(decay)], "weight_decay": weight_decay},
            {"params": [params[n] for n in sorted(no_decay)], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))  # also


def run():
    torch.manual_seed(0)
    model = GPT()
    optimizer = model.configure_optimizers(lr=1e-2, weight_decay=0.1)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        ids = torch.randint(0, VOCAB, (4, 9))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return {n: torch.equal(before[n], p) for n, p in model.named_parameters()}


def verify(outcome):
    for name, same in outcome.items():
        assert same == name.endswith("scale"), name


TRUTH = Truth(
    fault="the scale of RMSNorm is in no group: it is never stepped, its gradient is never cleared and spoils the clipping",
    names=("scale",),
    repair=("elif isinstance(m, (nn.LayerNorm, nn.Embedding, RMSNorm)):",),
)
