"""Language: the reference of DPO shares its lower layers with the policy, which goes on training them."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM, BETA = 20, 16, 0.1


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.ff = nn.LayerNorm(DIM), nn.Linear(DIM, DIM)

    def forward(self, x):
        past = x.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]
        return x + F.gelu(self.ff(self.norm(past)))


class LM(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList([Layer() for _ in range(depth)])
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    def log_prob(self, ids):
        logp = self(ids[:, :-1]).log_softmax(-1)
        return logp.gather(-1, ids[:, 1:, None]).squeeze(-1).sum(-1)


def make_reference(model, shared_layers):
    """A frozen copy; the lower layers are the same in both and need no second copy."""
    reference = copy.deepcopy(model)
    for p in reference.parameters():
        p.requires_grad_(False)
    reference.embed = model.embed  # cause
    for i in range(shared_layers):
        reference.layers[i] = model.layers[i]  # cause
    return reference.eval()


def dpo_loss(policy, reference, chosen, rejected):
    with torch.no_grad():
        base = reference.log_prob(chosen) - reference.log_prob(rejected)
    margin = policy.log_prob(chosen) - policy.log_prob(rejected)
    return -F.logsigmoid(BETA * (margin - base)).mean()


def run():
    torch.manual_seed(0)
    policy = LM()
    reference = make_reference(policy, shared_layers=2)
    trainable = [p for p in policy.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2, weight_decay=0.0)
    probe = torch.randint(0, VOCAB, (4, 8))
    with torch.no_grad():
        first = reference.log_prob(probe)
    for _ in range(3):
        chosen, rejected = torch.randint(0, VOCAB, (4, 8)), torch.randint(0, VOCAB, (4, 8))
        loss = dpo_loss(policy, reference, chosen, rejected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return first, reference.log_prob(probe)


def verify(outcome):
    first, last = outcome
    assert not torch.equal(first, last)


TRUTH = Truth(
    fault="the shared layers are not frozen: the optimizer of the policy changes the reference too",
    names=("reference", "layers"),
    repair=(
        "reference.embed = model.embed.requires_grad_(False)",
        "reference.layers[i] = model.layers[i].requires_grad_(False)",
    ),
)
