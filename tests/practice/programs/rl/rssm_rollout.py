"""RSSM: the states are written into one preallocated tensor that earlier steps have saved for backward."""

import torch
from torch import nn

from tests.practice.truth import Truth


class RSSM(nn.Module):
    def __init__(self, obs_dim=5, act_dim=2, hidden=8):
        super().__init__()
        self.embed = nn.Linear(obs_dim, hidden)
        self.inp = nn.Linear(hidden + act_dim, hidden)
        self.recur = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, obs_dim)
        self.hidden = hidden

    def rollout(self, obs, act):
        b, t = obs.shape[:2]
        states = torch.zeros(t + 1, b, self.hidden)  # also
        for i in range(t):
            x = self.inp(torch.cat([self.embed(obs[:, i]), act[:, i]], -1))
            states[i + 1] = torch.tanh(x + self.recur(states[i]))  # cause
        return states[1:].transpose(0, 1)

    def forward(self, obs, act):
        return self.head(self.rollout(obs, act))


def evaluate(model, obs, act):
    model.eval()
    with torch.no_grad():
        err = (model(obs, act) - obs).abs().mean().item()
    model.train()
    return err


def run():
    torch.manual_seed(0)
    model = RSSM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    val = torch.randn(2, 4, 5), torch.randn(2, 4, 2)
    for epoch in range(2):
        obs, act = torch.randn(3, 4, 5), torch.randn(3, 4, 2)
        loss = nn.functional.mse_loss(model(obs, act), obs)
        opt.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        opt.step()
        evaluate(model, *val)


TRUTH = Truth(
    fault="writing the next state in place spoils what the steps before have saved",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("states",),
    repair=("states = torch.cat([states[: i + 1], torch.tanh(x + self.recur(states[i]))[None], states[i + 2 :]])",),
)
