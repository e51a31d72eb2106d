"""GradCache for a dual encoder: the random state is noted too late, and the second pass drops out other units."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class BiEncoder(nn.Module):
    def __init__(self, vocab=40, dim=8, dropout=0.2):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Dropout(dropout), nn.Linear(16, dim))

    def forward(self, ids):
        return F.normalize(self.ff(self.emb(ids)), dim=-1)


class GradCache:
    """Contrastive loss over a large batch with the memory of a small one (Gao et al. 2021)."""

    def __init__(self, encoder, chunk_size=4, temperature=0.05):
        self.encoder, self.chunk_size, self.temperature = encoder, chunk_size, temperature

    @torch.no_grad()
    def forward_no_grad(self, chunks):
        reps, states = [], []
        for chunk in chunks:
            reps.append(self.encoder(chunk))  # cause
            states.append(torch.get_rng_state())  # also
        return reps, states

    def loss(self, q, p):
        return F.cross_entropy(q @ p.T / self.temperature, torch.arange(len(q)))

    def build_cache(self, q_reps, p_reps):
        q = torch.cat(q_reps).requires_grad_(True)
        p = torch.cat(p_reps).requires_grad_(True)
        loss = self.loss(q, p)
        loss.backward()
        return loss.detach(), q.grad.split(self.chunk_size), p.grad.split(self.chunk_size)

    def forward_backward(self, chunks, cached, reps, states):
        gap = 0.0
        for chunk, grad, old, state in zip(chunks, cached, reps, states):
            torch.set_rng_state(state)
            rep = self.encoder(chunk)
            surrogate = (rep * grad).sum()
            surrogate.backward()  # symptom
            gap = max(gap, (rep.detach() - old).abs().max().item())
        return gap

    def __call__(self, queries, passages):
        qs, ps = queries.split(self.chunk_size), passages.split(self.chunk_size)
        q_reps, q_states = self.forward_no_grad(qs)
        p_reps, p_states = self.forward_no_grad(ps)
        loss, q_cache, p_cache = self.build_cache(q_reps, p_reps)
        gap = self.forward_backward(qs, q_cache, q_reps, q_states)
        return loss, max(gap, self.forward_backward(ps, p_cache, p_reps, p_states))


def run():
    torch.manual_seed(0)
    model = BiEncoder().train()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    gc = GradCache(model)
    for step in range(3):
        queries = torch.randint(0, 40, (12, 5))
        passages = torch.cat([queries[:, :3], torch.randint(0, 40, (12, 6))], dim=1)
        opt.zero_grad()
        loss, gap = gc(queries, passages)
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    return gap


def verify(out):
    assert out > 1e-3


TRUTH = Truth(
    fault="the random state is kept after the first pass, not before it: the second has other dropout masks",
    names=("get_rng_state", "Dropout", "encoder"),
    repair=("state = torch.get_rng_state()\nreps.append(self.encoder(chunk))\nstates.append(state)\ncontinue",),
)
