"""Language: the memory of each head is made with expand; all heads share one storage, and the optimizer cannot write to it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM, HEADS = 18, 16, 4


class MemoryMLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(dim, 2 * dim) * 0.1)
        self.w2 = nn.Parameter(torch.randn(2 * dim, dim) * 0.1)


class HeadMemory(nn.Module):
    """Starts every head from the same template and lets them diverge."""

    def __init__(self, dim, heads):
        super().__init__()
        template = MemoryMLP(dim)
        self.weights = nn.ParameterDict({name: self.per_head(p, heads) for name, p in template.named_parameters()})

    @staticmethod
    def per_head(p, heads):
        return nn.Parameter(p.detach().unsqueeze(0).expand(heads, -1, -1))  # cause

    def forward(self, q):
        h = torch.einsum("bhtd,hde->bhte", q, self.weights["w1"])
        return torch.einsum("bhte,hed->bhtd", F.silu(h), self.weights["w2"])


class MemoryLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.query = nn.Linear(DIM, DIM, bias=False)
        self.memory = HeadMemory(DIM // HEADS, HEADS)
        self.merge = nn.Linear(DIM, DIM)
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        b, t, _ = x.shape
        q = self.query(x).view(b, t, HEADS, -1).transpose(1, 2)
        read = self.memory(q).transpose(1, 2).reshape(b, t, DIM)
        return self.head(x + self.merge(read))


def run():
    torch.manual_seed(0)
    model = MemoryLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    for _ in range(2):
        ids = torch.randint(0, VOCAB, (4, 7))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # symptom
    return model


TRUTH = Truth(
    fault="expand gives all heads one storage (stride 0); the in-place update of the optimizer is refused",
    raises="unsupported operation: more than one element of the written-to tensor refers to a single memory location",
    names=("weights", "expand"),
    repair=("return nn.Parameter(p.detach().unsqueeze(0).repeat(heads, 1, 1))",),
)
