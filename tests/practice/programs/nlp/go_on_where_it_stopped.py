"""Language: a run is stopped, everything is restored from disk, and it goes on exactly like the run that was not; all right."""

import os
import tempfile

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from tests.practice.truth import Truth

VOCAB, DIM = 20, 12


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.drop = nn.Dropout(0.2)
        self.rnn = nn.GRU(DIM, DIM, batch_first=True)
        self.head = nn.Linear(DIM, VOCAB, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.drop(self.rnn(self.embed(ids))[0]))


class Run:
    def __init__(self):
        self.model = LM()
        decay = [p for p in self.model.parameters() if p.dim() > 1]
        rest = [p for p in self.model.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-2, amsgrad=True
        )
        self.scheduler = SequentialLR(
            self.optimizer, [LinearLR(self.optimizer, 0.1, total_iters=2), CosineAnnealingLR(self.optimizer, 6)], [2]
        )
        self.shadow = {n: p.detach().clone() for n, p in self.model.named_parameters()}

    def train(self, steps):
        self.model.train()
        for _ in range(steps):
            ids = torch.randint(0, VOCAB, (4, 7))
            loss = F.cross_entropy(self.model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            with torch.no_grad():
                for n, p in self.model.named_parameters():
                    self.shadow[n].lerp_(p, 0.1)
        return loss.item()

    def save(self, path):
        torch.save(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "shadow": self.shadow,
                "rng": torch.get_rng_state(),
            },
            path,
        )

    def load(self, path):
        state = torch.load(path, weights_only=False)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.shadow = state["shadow"]
        torch.set_rng_state(state["rng"])


def run():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.ckpt")
        torch.manual_seed(0)
        whole = Run()
        whole.train(3)
        whole.save(path)
        end = whole.train(3)

        torch.manual_seed(99)
        resumed = Run()
        resumed.load(path)
        again = resumed.train(3)
    pairs = [(whole.model.state_dict()[n], resumed.model.state_dict()[n]) for n in whole.model.state_dict()]
    pairs += [(whole.shadow[n], resumed.shadow[n]) for n in whole.shadow]
    return end, again, pairs, resumed.model.head.weight is resumed.model.embed.weight


def verify(outcome):
    end, again, pairs, tied = outcome
    assert end == again and tied
    assert all(torch.equal(a, b) for a, b in pairs)


TRUTH = Truth()
