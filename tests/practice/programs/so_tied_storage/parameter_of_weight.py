"""Weight tying by nn.Parameter(embedding.weight): one storage, but two parameters with a gradient and an Adam state each."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Seq2SeqTiny(nn.Module):
    def __init__(self, vocab=15, dim=8):
        super().__init__()
        self.shared = nn.Embedding(vocab, dim)
        self.enc = nn.GRU(dim, dim, batch_first=True)
        self.dec = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.tie_weights()

    def tie_weights(self):
        self.lm_head.weight = nn.Parameter(self.shared.weight)  # cause

    def forward(self, src, tgt):
        _, h = self.enc(self.shared(src))
        out, _ = self.dec(self.shared(tgt), h)
        return self.lm_head(out)


def copy_task(n, length=5, vocab=15):
    src = torch.randint(1, vocab, (n, length))
    tgt_in = torch.cat([torch.zeros(n, 1, dtype=torch.long), src[:, :-1]], 1)
    return src, tgt_in, src


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(self):
        src, tgt_in, tgt = copy_task(6)
        loss = F.cross_entropy(self.model(src, tgt_in).transpose(1, 2), tgt)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    model = Seq2SeqTiny()
    trainer = Trainer(model)
    for _ in range(3):
        trainer.step()
    return model, sum(p.numel() for p in model.parameters())


def verify(outcome):
    model, _ = outcome
    a, b = model.shared.weight, model.lm_head.weight
    assert a is not b and a.data_ptr() == b.data_ptr()
    assert not torch.equal(a.grad, b.grad)


TRUTH = Truth(
    fault="nn.Parameter(weight) makes a second leaf over the same storage: gradients are kept apart and the memory is stepped twice",
    names=("lm_head.weight",),
    repair=("self.lm_head.weight = self.shared.weight",),
)
