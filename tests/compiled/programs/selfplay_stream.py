"""Games: positions of self-play arrive as a stream; a trunk and its value head are compiled and trained on them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the generator yields within no_grad(), which thus holds in the loop's body: the trunk gets no graph",
    names=("no_grad", "yield", "play", "trunk"),
    repair=("with torch.enable_grad():\n    yield board",),
)


class Trunk(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem, self.tower = nn.Linear(9, width), nn.Linear(width, width)

    def forward(self, board):
        h = torch.relu(self.stem(board))
        return torch.relu(h + self.tower(h))


def moves(board):
    following = board.repeat_interleave(9, 0).view(len(board), 9, 9).clone()
    following[:, range(9), range(9)] = 1.0
    return -following


def advance(trunk, value, board):
    options = moves(board)
    scores = value(trunk(options)).squeeze(-1)
    choice = torch.distributions.Categorical(logits=-scores).sample()
    return options[torch.arange(len(board)), choice]


def play(trunk, value, games, length):
    board = torch.zeros(games, 9)
    for _ in range(length):
        with torch.no_grad():  # also
            board = advance(trunk, value, board)
            yield board  # cause


def winner(board):
    return torch.sign(board.view(-1, 3, 3).sum(2)).sum(1)


def setup():
    torch.manual_seed(0)


def run():
    trunk, value = Trunk(), nn.Linear(16, 1)
    encode = torch.compile(trunk, backend=BACKEND)
    judge = torch.compile(value, backend=BACKEND)
    optimizer = torch.optim.Adam([*trunk.parameters(), *value.parameters()], lr=1e-3)
    start = [p.detach().clone() for p in trunk.parameters()]
    for _ in range(3):
        features, results = [], []
        for board in play(trunk, value, games=6, length=3):
            flipped = board.view(-1, 3, 3).flip(2).flatten(1)
            features.append(encode(torch.cat([board, flipped])))
            results.append(winner(board).repeat(2))
        predicted = torch.tanh(judge(torch.cat(features))).squeeze(-1)
        loss = F.mse_loss(predicted, torch.cat(results).clamp(-1, 1))
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return [torch.equal(p, s) for p, s in zip(trunk.parameters(), start)], value.weight.grad.abs().sum().item()


def verify(outcome):
    still, grad = outcome
    assert all(still) and grad > 0
