"""A compiled streaming recogniser keeps its state from chunk to chunk, together with the graph that made it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Recogniser(nn.Module):
    def __init__(self, mel=5, width=8, phones=6):
        super().__init__()
        self.inner, self.inward, self.out = nn.Linear(width, width), nn.Linear(mel, width), nn.Linear(width, phones)

    def forward(self, chunk, h):
        outputs = []
        for frame in chunk.unbind(1):
            h = torch.tanh(self.inward(frame) + self.inner(h))
            outputs.append(self.out(h))
        return torch.stack(outputs, 1), h


class Trainer:
    def __init__(self, model):
        self.forward = torch.compile(model, backend=BACKEND)
        self.optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
        self.state = torch.zeros(3, 8)

    def chunk(self, sound, phones):
        logits, state = self.forward(sound, self.state)
        self.state = state  # cause
        loss = F.cross_entropy(logits.flatten(0, 1), phones.flatten())
        self.optimizer.zero_grad()
        loss.backward()  # symptom
        self.optimizer.step()


def run():
    torch.manual_seed(0)
    trainer = Trainer(Recogniser())
    sound, phones = torch.randn(3, 12, 5), torch.randint(6, (3, 12))
    for a, b in zip(sound.split(4, 1), phones.split(4, 1)):
        trainer.chunk(a, b)


TRUTH = Truth(
    fault="the state is not detached between chunks: the second backward runs into the first chunk's freed graph",
    raises="Trying to backward through the graph a second time",
    names=("state",),
    repair=("self.state = state.detach()",),
)
