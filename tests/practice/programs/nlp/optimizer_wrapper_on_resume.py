"""Language: on resume the wrapper of the optimizer is restored and then given the parameters, which makes it anew."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

SRC, TGT, DIM = 18, 16, 12


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.src, self.tgt = nn.Embedding(SRC, DIM), nn.Embedding(TGT, DIM)
        self.encoder, self.decoder = nn.GRU(DIM, DIM, batch_first=True), nn.GRU(DIM, DIM, batch_first=True)
        self.generator = nn.Linear(DIM, TGT)

    def forward(self, src, tgt):
        _, h = self.encoder(self.src(src))
        return self.generator(self.decoder(self.tgt(tgt), h)[0])


class Optim:
    """Chooses the method, clips and decays the rate."""

    def __init__(self, method="adam", lr=1e-2, max_norm=5.0, decay=0.5, start_at=2):
        self.method, self.lr, self.max_norm = method, lr, max_norm
        self.decay, self.start_at = decay, start_at
        self.updates = 0

    def set_parameters(self, params):
        self.params = [p for p in params if p.requires_grad]
        make = {"adam": torch.optim.Adam, "adagrad": torch.optim.Adagrad}[self.method]
        self.optimizer = make(self.params, lr=self.lr)  # also

    def step(self):
        self.updates += 1
        nn.utils.clip_grad_norm_(self.params, self.max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def state_dict(self):
        return {"updates": self.updates, "lr": self.lr, "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state):
        self.updates, self.lr = state["updates"], state["lr"]
        self.optimizer.load_state_dict(state["optimizer"])


def build_optim(model, checkpoint=None):
    optim = Optim()
    optim.set_parameters(model.parameters())
    if checkpoint is not None:
        optim.load_state_dict(checkpoint["optim"])
    optim.set_parameters(model.parameters())  # cause
    return optim


def train(model, optim, steps):
    for _ in range(steps):
        src, tgt = torch.randint(0, SRC, (4, 6)), torch.randint(0, TGT, (4, 5))
        loss = F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten())
        loss.backward()
        optim.step()


def run():
    torch.manual_seed(0)
    model = Seq2Seq()
    optim = build_optim(model)
    train(model, optim, steps=3)
    checkpoint = copy.deepcopy({"model": model.state_dict(), "optim": optim.state_dict()})

    model = Seq2Seq()
    model.load_state_dict(checkpoint["model"])
    optim = build_optim(model, checkpoint)
    train(model, optim, steps=1)
    state = optim.optimizer.state[model.generator.weight]
    return int(state["step"]), optim.updates


def verify(outcome):
    step, updates = outcome
    assert updates == 4
    assert step == 1


TRUTH = Truth(
    fault="set_parameters after load_state_dict builds a new Adam: the moments and the step count of the checkpoint are lost",
    names=("set_parameters",),
    repair=("return optim",),
)
