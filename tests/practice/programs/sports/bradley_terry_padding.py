"""Sports ratings: padding_idx=0 while team 0 is a real team; its rating never moves."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

TEAMS = ["Ajax", "Benfica", "Celtic", "Dinamo", "Everton"]


class PairwiseRating(nn.Module):
    """Bradley-Terry with a home advantage and a bias for each team's form."""

    def __init__(self, n_teams):
        super().__init__()
        self.strength = nn.Embedding(n_teams, 4, padding_idx=0)  # cause
        self.form = nn.Linear(2, 4, bias=False)
        self.read = nn.Linear(4, 1, bias=False)
        self.home = nn.Parameter(torch.tensor(0.1))

    def score(self, team, form):
        return self.read(torch.tanh(self.strength(team) + self.form(form))).squeeze(-1)

    def forward(self, home, away, form_home, form_away):
        return self.score(home, form_home) - self.score(away, form_away) + self.home


def season(games=60):
    true = torch.linspace(1.5, -1.5, len(TEAMS))
    home = torch.randint(len(TEAMS), (games,))
    away = (home + torch.randint(1, len(TEAMS), (games,))) % len(TEAMS)
    win = (torch.rand(games) < torch.sigmoid(true[home] - true[away] + 0.3)).float()
    return home, away, win


def fit(model, games, epochs):
    home, away, win = games
    form = torch.randn(2, home.numel(), 2)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    for _ in range(epochs):
        logit = model(home, away, form[0], form[1])
        loss = F.binary_cross_entropy_with_logits(logit, win)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = PairwiseRating(len(TEAMS))
    before = model.strength.weight.detach().clone()
    fit(model, season(), epochs=4)
    change = (model.strength.weight.detach() - before).norm(dim=1)
    return dict(zip(TEAMS, change.tolist()))


def verify(outcome):
    assert outcome["Ajax"] == 0.0
    assert min(v for k, v in outcome.items() if k != "Ajax") > 0


TRUTH = Truth(
    fault="row 0 is declared padding, so team 0 gets no gradient",
    names=("strength", "padding_idx"),
    repair=("self.strength = nn.Embedding(n_teams, 4)",),
)
