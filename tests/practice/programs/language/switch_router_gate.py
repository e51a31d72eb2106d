"""Mixture of experts: the experts' outputs are no longer multiplied by the router's probability, so only the balancing loss trains the router."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.wi, self.wo = nn.Linear(dim, hidden, bias=False), nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.wo(F.relu(self.wi(x)))


class Top1Router(nn.Module):
    def __init__(self, dim, num_experts, capacity, jitter=0.01):
        super().__init__()
        self.classifier = nn.Linear(dim, num_experts, bias=False)
        self.num_experts, self.capacity, self.jitter = num_experts, capacity, jitter

    def forward(self, hidden):
        if self.training and self.jitter > 0:
            hidden = hidden * torch.empty_like(hidden).uniform_(1 - self.jitter, 1 + self.jitter)
        logits = self.classifier(hidden)
        probs = F.softmax(logits, dim=-1)
        index = F.one_hot(probs.argmax(-1), self.num_experts)
        priority = torch.cumsum(index, dim=-2)
        index = index * (priority <= self.capacity)
        return index, probs.max(dim=-1).values.unsqueeze(-1), logits, probs


def load_balancing_loss(probs, index):
    tokens = index.float().mean(dim=-2)
    prob = probs.mean(dim=-2)
    return (tokens * prob).mean() * probs.size(-1) ** 2


def router_z_loss(logits):
    return torch.logsumexp(logits, dim=-1).pow(2).mean()


class SparseMLP(nn.Module):
    def __init__(self, dim, hidden, num_experts=4, capacity=6):
        super().__init__()
        self.router = Top1Router(dim, num_experts, capacity)
        self.experts = nn.ModuleDict({f"expert_{i}": Expert(dim, hidden) for i in range(num_experts)})

    def forward(self, hidden):
        index, router_probs, logits, probs = self.router(hidden)
        next_states = hidden.clone()
        router_mask = index.bool()
        for i, expert in enumerate(self.experts.values()):
            token_indices = router_mask[:, :, i]
            next_states[token_indices] = expert(hidden[token_indices]).to(next_states.dtype)
        hidden = next_states  # cause
        return hidden, load_balancing_loss(probs, index), router_z_loss(logits)


class SwitchLM(nn.Module):
    def __init__(self, vocab=24, dim=12, layers=2):
        super().__init__()
        self.shared = nn.Embedding(vocab, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(layers))
        self.mlps = nn.ModuleList(SparseMLP(dim, 2 * dim) for _ in range(layers))
        self.final = nn.LayerNorm(dim)

    def forward(self, ids):
        x, aux, z = self.mix(self.shared(ids))[0], 0.0, 0.0
        for norm, mlp in zip(self.norms, self.mlps):
            out, a, b = mlp(norm(x))
            x, aux, z = x + out, aux + a, z + b
        return self.final(x) @ self.shared.weight.t(), aux, z


def run(router_aux_loss_coef=1e-2, router_z_loss_coef=1e-3):
    torch.manual_seed(0)
    model = SwitchLM()
    optimizer = torch.optim.Adafactor(model.parameters(), lr=1e-2)
    reach = []
    for _ in range(3):
        ids = torch.randint(0, 24, (4, 9))
        logits, aux, z = model(ids[:, :-1])
        ce = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        g = torch.autograd.grad(ce, model.mlps[-1].router.classifier.weight, retain_graph=True, allow_unused=True)[0]
        reach.append(g is not None and bool(g.abs().sum() > 0))
        loss = ce + router_aux_loss_coef * aux + router_z_loss_coef * z
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reach


def verify(reach):
    assert not any(reach)


TRUTH = Truth(
    fault="the language loss has no path to the router: router_probs is never used",
    names=("router.classifier", "router_probs"),
    repair=("hidden = router_probs * next_states",),
)
