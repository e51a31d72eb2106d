"""GRPO with one update per batch: the ratio of the policy to its detached self has the value 1 and the right gradient."""

import torch
from torch import nn

from tests.practice.truth import Truth


def logps(policy, ids, prompt):
    logits = policy(ids[:, :-1])
    return logits.log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)[:, prompt - 1 :]


class Policy(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(vocab, dim), nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])

    @torch.no_grad()
    def generate(self, ids, n=4):
        for _ in range(n):
            probs = self(ids)[:, -1].softmax(-1)
            ids = torch.cat([ids, torch.multinomial(probs, 1)], 1)
        return ids


def run():
    torch.manual_seed(0)
    policy, reference = Policy(), Policy().requires_grad_(False)
    reference.load_state_dict(policy.state_dict())
    opt = torch.optim.AdamW(policy.parameters(), 1e-3)
    for _ in range(3):
        prompts = torch.randint(12, (2, 3)).repeat_interleave(4, 0)
        ids = policy.generate(prompts)
        reward = (ids[:, 3:] == 5).float().sum(1).view(2, 4)
        adv = ((reward - reward.mean(1, keepdim=True)) / (reward.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        new = logps(policy, ids, 3)
        with torch.no_grad():
            ref = logps(reference, ids, 3)
        ratio = (new - new.detach()).exp()
        kl = (ref - new).exp() - (ref - new) - 1
        loss = (-ratio * adv + 0.04 * kl).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return policy


TRUTH = Truth()
