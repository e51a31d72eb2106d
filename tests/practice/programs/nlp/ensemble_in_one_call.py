"""Language: an ensemble is trained as one stack of parameters; the models that are used afterwards never hear of it."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from tests.practice.truth import Truth

MEMBERS, VOCAB, DIM = 3, 24, 10


class Reward(nn.Module):
    """Scores a text."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.hidden = nn.Linear(DIM, 16)
        self.score = nn.Linear(16, 1)

    def forward(self, ids):
        return self.score(torch.tanh(self.hidden(self.embed(ids).mean(1)))).squeeze(-1)


class Ensemble:
    def __init__(self, members):
        self.models = [Reward() for _ in range(members)]
        self.params, self.buffers = stack_module_state(self.models)
        self.skeleton = [copy.deepcopy(self.models[0]).to("meta")]

    def _one(self, params, buffers, ids):
        return functional_call(self.skeleton[0], (params, buffers), (ids,))

    def all_scores(self, ids):
        return vmap(self._one, in_dims=(0, 0, None))(self.params, self.buffers, ids)

    def finish(self):
        return self.models  # cause


def preferences(n=12):
    better, worse = torch.randint(0, VOCAB, (n, 6)), torch.randint(0, VOCAB, (n, 6))
    better[:, 0], worse[:, 0] = 1, 2
    return better, worse


def train(ensemble, steps, lr=5e-2):
    optimizer = torch.optim.Adam(ensemble.params.values(), lr=lr)
    losses = []
    for _ in range(steps):
        better, worse = preferences()
        margin = ensemble.all_scores(better) - ensemble.all_scores(worse)
        loss = -F.logsigmoid(margin).mean(1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def disagreement(models, ids):
    return torch.stack([m(ids) for m in models]).std(0)


def run():
    torch.manual_seed(0)
    ensemble = Ensemble(MEMBERS)
    probe, _ = preferences()
    before = [copy.deepcopy(m.state_dict()) for m in ensemble.models]
    losses = train(ensemble, steps=4)
    served = ensemble.finish()
    disagreement(served, probe)
    same = [torch.equal(b[k], v) for b, m in zip(before, served) for k, v in m.state_dict().items()]
    return same, losses


def verify(outcome):
    same, losses = outcome
    assert losses[-1] < losses[0]
    assert all(same)


TRUTH = Truth(
    fault="stack_module_state copies: the stack is trained, the single models keep their first weights",
    names=("models", "stack_module_state"),
    repair=(
        "for i, m in enumerate(self.models):\n    m.load_state_dict({k: v[i].detach() for k, v in self.params.items()})\nreturn self.models",
    ),
)
