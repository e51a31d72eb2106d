"""The sampling function turns recording off and on again, but not where all rows have ended early."""

import torch
from torch import nn

from tests.practice.truth import Truth

EOS = 0


class Policy(nn.Module):
    def __init__(self, vocab=8, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)
        with torch.no_grad():
            self.head.bias[EOS] = 6.0

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def sample(policy, prompt, length):
    policy.eval()
    torch.set_grad_enabled(False)  # cause
    ids, done = prompt, torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(length):
        nxt = policy(ids)[:, -1].softmax(-1).multinomial(1).squeeze(1)
        ids = torch.cat([ids, nxt.where(~done, torch.tensor(EOS))[:, None]], 1)
        done |= nxt == EOS
        if done.all():
            return ids  # also
    torch.set_grad_enabled(True)
    policy.train()
    return ids


def run():
    torch.manual_seed(0)
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
    try:
        for _ in range(3):
            ids = sample(policy, torch.randint(1, 8, (3, 2)), 12)
            logp = policy(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
            reward = (ids == 3).float().mean(1)
            loss = -(logp.sum(1) * (reward - reward.mean())).mean()
            opt.zero_grad()
            loss.backward()  # symptom
            opt.step()
    finally:
        torch.set_grad_enabled(True)
    return policy


TRUTH = Truth(
    fault="recording stays off after the early return",
    raises="element 0 of tensors does not require grad",
    names=("set_grad_enabled",),
    repair=("torch.set_grad_enabled(True)",),
)
