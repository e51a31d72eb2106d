"""RWKV: its three rates by name; matrices are set aside for a group that is made only when there is weight decay."""

from types import SimpleNamespace

import torch
import torch.nn as nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TimeMix(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.time_decay = nn.Parameter(torch.linspace(-5, 1, dim))
        self.time_first = nn.Parameter(torch.full((dim,), 0.3))
        self.time_mix_k = nn.Parameter(torch.linspace(0, 1, dim)[None, None])
        self.key, self.value = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.receptance, self.output = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        xx = F.pad(x, (0, 0, 1, -1))
        xk = x * self.time_mix_k + xx * (1 - self.time_mix_k)
        k, v, r = self.key(xk), self.value(xk), self.receptance(x).sigmoid()
        w = -self.time_decay.exp()
        num, den, out = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), []
        for t in range(x.size(1)):
            ek, ef = k[:, t].exp(), (self.time_first + k[:, t]).exp()
            out.append((num + ef * v[:, t]) / (den + ef))
            num, den = w.exp() * num + ek * v[:, t], w.exp() * den + ek
        return self.output(r * torch.stack(out, 1))


class RWKV(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.emb = nn.Embedding(args.vocab_size, args.n_embd)
        self.ln, self.att = nn.LayerNorm(args.n_embd), TimeMix(args.n_embd)
        self.head = nn.Linear(args.n_embd, args.vocab_size, bias=False)

    def forward(self, idx):
        x = self.emb(idx)
        return self.head(x + self.att(self.ln(x)))

    def configure_optimizers(self):
        args, groups = self.args, {"lr_1x": [], "lr_2x": [], "lr_3x": [], "lr_decay": []}
        for n, p in self.named_parameters():
            if "time_mix" in n:
                groups["lr_1x"].append(p)
            elif "time_decay" in n:
                groups["lr_2x"].append(p)
            elif "time_first" in n:
                groups["lr_3x"].append(p)
            elif p.squeeze().dim() >= 2:  # cause
                groups["lr_decay"].append(p)
            else:
                groups["lr_1x"].append(p)
        scales = {"lr_1x": 1.0, "lr_2x": 2.0, "lr_3x": 3.0}
        optim_groups = [{"params": groups[k], "lr": s * args.lr_init, "weight_decay": 0.0} for k, s in scales.items()]
        if args.weight_decay > 0:
            optim_groups.append({"params": groups["lr_decay"], "weight_decay": args.weight_decay})  # also
        return torch.optim.AdamW(optim_groups, lr=args.lr_init, betas=(0.9, 0.99), eps=1e-8)


def run():
    torch.manual_seed(0)
    model = RWKV(SimpleNamespace(vocab_size=20, n_embd=12, lr_init=1e-2, weight_decay=0.0))
    optimizer = model.configure_optimizers()
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        ids = torch.randint(0, 20, (4, 9))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [n for n, p in model.named_parameters() if torch.equal(start[n], p)]


def verify(untrained):
    assert "emb.weight" in untrained and "att.key.weight" in untrained and "ln.weight" not in untrained, untrained


TRUTH = Truth(
    fault="without weight decay no group takes the matrices that were put aside for the one with it",
    names=("lr_decay", "weight"),
    repair=("elif p.squeeze().dim() >= 2 and args.weight_decay > 0:",),
)
