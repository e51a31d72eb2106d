"""AlphaZero: the stored policy targets share memory with the search tree's counts."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Connect:
    """A row of cells; who fills the last one wins."""

    n = 6

    def initial(self):
        return np.zeros(self.n, dtype=np.float32)

    def valid(self, board):
        return (board == 0).astype(np.float32)

    def play(self, board, action):
        board = -board.copy()
        board[action] = -1.0
        return board


class NNet(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n, 24), nn.BatchNorm1d(24), nn.ReLU())
        self.pi, self.v = nn.Linear(24, n), nn.Linear(24, 1)

    def forward(self, s):
        s = self.trunk(s)
        return F.log_softmax(self.pi(s), dim=1), torch.tanh(self.v(s))


class MCTS:
    def __init__(self, game, nnet, sims=12, cpuct=1.0):
        self.game, self.nnet, self.sims, self.cpuct = game, nnet, sims, cpuct
        self.Nsa = np.zeros(game.n, dtype=np.float32)
        self.Qsa = np.zeros(game.n, dtype=np.float32)

    @torch.no_grad()
    def predict(self, board):
        self.nnet.eval()
        pi, v = self.nnet(torch.from_numpy(board)[None])
        return pi.exp()[0].numpy(), v.item()

    def getActionProb(self, board):
        self.Nsa[:] = 0
        self.Qsa[:] = 0
        valid = self.game.valid(board)
        prior = self.predict(board)[0] * valid
        for _ in range(self.sims):
            u = self.Qsa + self.cpuct * prior * math.sqrt(self.Nsa.sum() + 1e-8) / (1 + self.Nsa)
            a = int(np.argmax(np.where(valid > 0, u, -np.inf)))
            v = -self.predict(self.game.play(board, a))[1]
            self.Qsa[a] += (v - self.Qsa[a]) / (self.Nsa[a] + 1)
            self.Nsa[a] += 1
        return torch.from_numpy(self.Nsa)  # cause


def execute_episode(game, mcts, rng):
    examples, board, player = [], game.initial(), 1
    while game.valid(board).any():
        counts = mcts.getActionProb(board)
        examples.append((torch.from_numpy(board), counts, player))
        p = (counts / counts.sum()).double().numpy()
        board, player = game.play(board, rng.choice(game.n, p=p / p.sum())), -player
    return [(s, c, -player * pl) for s, c, pl in examples]


def run():
    torch.manual_seed(0)
    rng, game = np.random.default_rng(0), Connect()
    nnet = NNet(game.n)
    mcts = MCTS(game, nnet)
    optimizer = torch.optim.Adam(nnet.parameters(), lr=1e-3)
    same = []
    for _ in range(2):
        examples = execute_episode(game, mcts, rng)
        nnet.train()
        boards = torch.stack([s for s, _, _ in examples])
        pis = torch.stack([c for _, c, _ in examples])
        pis = pis / pis.sum(1, keepdim=True)
        vs = torch.tensor([float(z) for _, _, z in examples])
        out_pi, out_v = nnet(boards)
        loss = -(pis * out_pi).sum(1).mean() + F.mse_loss(out_v.view(-1), vs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        same.append(bool((pis == pis[0]).all()))
    return same


def verify(outcome):
    assert all(outcome), outcome


TRUTH = Truth(
    fault="from_numpy() shares the counts of the tree, which the next search clears: all targets are the last one",
    names=("from_numpy", "Nsa"),
    repair=("return torch.from_numpy(self.Nsa.copy())",),
)
