"""RLHF with PPO: the rollout's log-probs come from a model in train mode: dropout makes the ratio differ from 1 at once."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class PolicyWithValueHead(nn.Module):
    def __init__(self, vocab=16, dim=16, dropout=0.3):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.lm_head, self.v_head = nn.Linear(dim, vocab), nn.Linear(dim, 1)

    def forward(self, ids):
        h = self.drop(self.rnn(self.wte(ids))[0])
        return self.lm_head(h), self.v_head(h).squeeze(-1)


def logprobs_of(logits, ids):
    return F.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None]).squeeze(-1)


@torch.no_grad()
def generate(model, prompt, n):
    was_training = model.training
    model.eval()
    ids = prompt
    for _ in range(n):
        probs = model(ids)[0][:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], 1)
    model.train(was_training)
    return ids


class PPOTrainer:
    def __init__(self, model, reference, kl_coef=0.1, clip=0.2, ppo_epochs=2):
        self.model, self.reference = model, reference.eval().requires_grad_(False)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.model.train()  # cause
        self.kl_coef, self.clip, self.ppo_epochs = kl_coef, clip, ppo_epochs

    def make_experience(self, prompt):
        ids = generate(self.model, prompt, 6)
        with torch.no_grad():
            logits, values = self.model(ids)
            ref_logits, _ = self.reference(ids)
        old, ref = logprobs_of(logits, ids), logprobs_of(ref_logits, ids)
        score = (ids == 3).float().mean(1)
        rewards = -self.kl_coef * (old - ref)
        rewards[:, -1] += score
        returns = rewards.flip(1).cumsum(1).flip(1)
        return ids, old, returns, values[:, :-1]

    def step(self, prompt):
        ids, old, returns, old_values = self.make_experience(prompt)
        adv = returns - old_values
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        first = None
        for _ in range(self.ppo_epochs):
            logits, values = self.model(ids)
            ratio = (logprobs_of(logits, ids) - old).exp()
            first = ratio.detach() if first is None else first
            pg = -torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv).mean()
            loss = pg + 0.5 * (values[:, :-1] - returns).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return (first - 1).abs().max().item()


def run():
    torch.manual_seed(0)
    model, reference = PolicyWithValueHead(), PolicyWithValueHead()
    reference.load_state_dict(model.state_dict())
    trainer = PPOTrainer(model, reference)
    return [trainer.step(torch.randint(0, 16, (4, 3))) for _ in range(2)]


def verify(outcome):
    assert all(off > 1e-2 for off in outcome)


TRUTH = Truth(
    fault="old log-probs and new ones are computed under different dropout masks (train mode): the ratio is noise before any step was made",
    names=("dropout",),
    repair=("self.model.eval()  # no dropout in PPO; gradients flow all the same",),
)
