"""Language: with accelerate, zero_grad at the head of the block wipes what the earlier micro-batches gathered."""

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

VOCAB, DIM, ACCUMULATE = 24, 16, 3


class NextToken(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.rnn = nn.GRU(DIM, DIM, batch_first=True)
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)

    def loss(self, ids):
        logits = self(ids[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def corpus(n=24, length=6):
    return TensorDataset(torch.randint(0, VOCAB, (n, length)))


def reference(model, batches):
    """What the update of one whole group ought to be."""
    total = [torch.zeros_like(p) for p in model.parameters()]
    for (ids,) in batches:
        grads = torch.autograd.grad(model.loss(ids) / ACCUMULATE, list(model.parameters()))
        for t, g in zip(total, grads):
            t += g
    return total


def run():
    torch.manual_seed(0)
    accelerator = Accelerator(gradient_accumulation_steps=ACCUMULATE, cpu=True)
    model = NextToken()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    loader = DataLoader(corpus(), batch_size=4, shuffle=False)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    first_group = list(loader)[:ACCUMULATE]
    wanted = reference(model, first_group)
    last_only = torch.autograd.grad(model.loss(first_group[-1][0]) / ACCUMULATE, list(model.parameters()))

    used = None
    updates = 0
    for micro, (ids,) in enumerate(loader):
        with accelerator.accumulate(model):
            optimizer.zero_grad()  # cause
            loss = model.loss(ids)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 10.0)
                if used is None:
                    used = [p.grad.clone() for p in model.parameters()]
                updates += 1
            optimizer.step()
    return used, wanted, last_only, updates


def verify(outcome):
    used, wanted, last_only, updates = outcome
    assert updates == 2
    assert all(torch.allclose(u, g, atol=1e-6) for u, g in zip(used, last_only))
    assert not any(torch.allclose(u, w, atol=1e-6) for u, w in zip(used, wanted))


TRUTH = Truth(
    fault="accelerate lets zero_grad through on the last micro-batch: placed before backward it drops the gradients of the others",
    names=("zero_grad",),
    repair=("if micro % ACCUMULATE == 0:\n    model.zero_grad()",),
)
