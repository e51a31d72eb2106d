"""REINFORCE on a language model: the log probabilities come from the generation, which runs under no_grad."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Policy(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.emb, self.rnn, self.head = (
            nn.Embedding(vocab, dim),
            nn.GRU(dim, dim, batch_first=True),
            nn.Linear(dim, vocab),
        )

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])

    @torch.no_grad()  # cause
    def generate(self, ids, n=4):
        logps = []
        for _ in range(n):
            logp = self(ids)[:, -1].log_softmax(-1)
            token = torch.multinomial(logp.exp(), 1)
            logps.append(logp.gather(1, token))
            ids = torch.cat([ids, token], 1)
        return ids, torch.cat(logps, 1)


def run():
    torch.manual_seed(0)
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), 1e-3)
    for _ in range(2):
        ids, logps = policy.generate(torch.randint(12, (6, 3)))
        reward = (ids[:, 3:] == 5).float().sum(1)
        loss = -(logps.sum(1) * (reward - reward.mean())).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
    return policy


TRUTH = Truth(
    fault="the log probabilities of the generation have no graph",
    raises="element 0 of tensors does not require grad and does not have a grad_fn",
    names=("generate",),
    repair=("# with its graph",),
)
