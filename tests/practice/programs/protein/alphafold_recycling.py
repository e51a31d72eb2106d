"""Protein: the recycling loop never recognises its last cycle, so the trunk always runs without gradients."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    c_m: int = 16
    c_z: int = 8
    no_bins: int = 8
    max_recycling_iters: int = 2
    lr: float = 1e-2


class InputEmbedder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.linear_m = nn.Linear(21, c.c_m)
        self.linear_z = nn.Linear(42, c.c_z)

    def forward(self, aatype):
        one = F.one_hot(aatype, 21).float()
        n = len(one)
        pair = torch.cat([one[:, None].expand(n, n, -1), one[None].expand(n, n, -1)], -1)
        return self.linear_m(one), self.linear_z(pair)


class RecyclingEmbedder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.linear = nn.Linear(c.no_bins, c.c_z)
        self.layer_norm_m, self.layer_norm_z = nn.LayerNorm(c.c_m), nn.LayerNorm(c.c_z)
        self.register_buffer("bins", torch.linspace(1, 8, c.no_bins))

    def forward(self, m, z, x):
        d = torch.cdist(x, x)
        upper = torch.cat([self.bins[1:], torch.tensor([1e8])])
        one = ((d[..., None] > self.bins) & (d[..., None] < upper)).float()
        return self.layer_norm_m(m), self.linear(one) + self.layer_norm_z(z)


class EvoformerBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attn_bias = nn.Linear(c.c_z, 1)
        self.qkv = nn.Linear(c.c_m, 3 * c.c_m)
        self.left, self.right = nn.Linear(c.c_m, c.c_z), nn.Linear(c.c_m, c.c_z)
        self.transition = nn.Sequential(
            nn.LayerNorm(c.c_z), nn.Linear(c.c_z, 2 * c.c_z), nn.ReLU(), nn.Linear(2 * c.c_z, c.c_z)
        )

    def forward(self, m, z):
        q, k, v = self.qkv(m).chunk(3, -1)
        a = torch.softmax(q @ k.T * q.size(-1) ** -0.5 + self.attn_bias(z).squeeze(-1), -1)
        m = m + a @ v
        z = z + self.left(m)[:, None] * self.right(m)[None]
        return m, z + self.transition(z)


class AlphaFold(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.input_embedder, self.recycling_embedder = InputEmbedder(c), RecyclingEmbedder(c)
        self.evoformer = nn.ModuleList(EvoformerBlock(c) for _ in range(2))
        self.structure = nn.Linear(c.c_m, 3)
        self.distogram = nn.Linear(c.c_z, c.no_bins)

    def iteration(self, aatype, prevs):
        m, z = self.input_embedder(aatype)
        if prevs is not None:
            m_, z_ = self.recycling_embedder(*prevs)
            m, z = m + m_, z + z_
        for block in self.evoformer:
            m, z = block(m, z)
        return m, z

    def forward(self, aatype, num_recycles):
        prevs = None
        for cycle_no in range(num_recycles + 1):
            is_final_iter = cycle_no == num_recycles + 1  # cause
            with torch.set_grad_enabled(is_final_iter):
                m, z = self.iteration(aatype, prevs)
                prevs = (m, z, self.structure(m).cumsum(0))
        logits = self.distogram(z)
        return self.structure(m).cumsum(0), 0.5 * (logits + logits.transpose(0, 1))


def alphafold_loss(coords, logits, truth, bins):
    d_true = torch.cdist(truth, truth)
    fape = (torch.cdist(coords, coords) - d_true).abs().clamp(max=10).mean()
    target = torch.bucketize(d_true, bins[:-1])
    return fape + 0.3 * F.cross_entropy(logits.flatten(0, 1), target.flatten())


def run():
    torch.manual_seed(0)
    c = Config()
    model = AlphaFold(c)
    optimizer = torch.optim.Adam(model.parameters(), lr=c.lr, eps=1e-6)
    trunk = {n: p for n, p in model.named_parameters() if "structure" not in n and "distogram" not in n}
    before = [p.detach().clone() for p in trunk.values()]
    for step in range(3):
        aatype, truth = torch.randint(21, (10,)), torch.randn(10, 3).cumsum(0)
        coords, logits = model(aatype, num_recycles=1 + step % c.max_recycling_iters)
        loss = alphafold_loss(coords, logits, truth, model.recycling_embedder.bins)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    return before, [p.detach() for p in trunk.values()]


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="is_final_iter is never true (off by one): every cycle of the trunk runs without grad, only the heads train",
    names=("evoformer",),
    repair=("is_final_iter = cycle_no == num_recycles",),
)
