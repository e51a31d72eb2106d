"""A whole training step compiled, with accumulated gradients and a learning rate in a tensor: healthy."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Captioner(nn.Module):
    def __init__(self, vocab=15, width=12):
        super().__init__()
        self.see, self.read = nn.Linear(8, width), nn.Embedding(vocab, width)
        self.gate, self.out = nn.Linear(2 * width, width), nn.Linear(width, vocab)

    def forward(self, image, words):
        h = torch.cat([self.see(image).unsqueeze(1).expand(-1, words.size(1), -1), self.read(words)], -1)
        return self.out(torch.tanh(self.gate(h)))


class Step:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1), momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda n: min(1.0, (n + 1) / 3))

    def __call__(self, image, words, parts=2):
        for i, (a, b) in enumerate(zip(image.chunk(parts), words.chunk(parts))):
            logits = self.model(a, b[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), b[:, 1:].flatten()) / parts
            loss.backward()
            if i == parts - 1:
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()


def run():
    torch.manual_seed(0)
    model = Captioner()
    twin = copy.deepcopy(model)
    step = Step(model)
    train = torch.compile(step.__call__, backend=BACKEND)
    plain = torch.optim.SGD(twin.parameters(), lr=0.1, momentum=0.9)
    for n in range(4):
        image, words = torch.randn(8, 8), torch.randint(15, (8, 6))
        train(image, words)
        step.scheduler.step()

        plain.param_groups[0]["lr"] = 0.1 * min(1.0, (n + 1) / 3)
        plain.zero_grad()
        F.cross_entropy(twin(image, words[:, :-1]).flatten(0, 1), words[:, 1:].flatten()).backward()
        plain.step()
    return [(a.detach(), b.detach()) for a, b in zip(model.parameters(), twin.parameters())]


def verify(outcome):
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in outcome)


TRUTH = Truth()
