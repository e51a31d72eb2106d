"""GRPO after trl: with one update a batch the old log-probabilities are the new ones, graph and all."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class PolicyLM(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.lm_head(self.rnn(self.embed(ids))[0])


@torch.no_grad()
def generate(model, prompt_ids, max_new_tokens):
    ids = prompt_ids
    for _ in range(max_new_tokens):
        probs = model(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
    return ids


def length_reward(completion_ids):
    return (completion_ids % 2 == 0).float().mean(1)


class GRPOTrainer:
    def __init__(self, model, num_generations=4, num_iterations=1, epsilon=0.2, lr=1e-2):
        self.model, self.num_generations, self.num_iterations = model, num_generations, num_iterations
        self.epsilon = epsilon
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)

    def get_per_token_logps(self, ids, logits_to_keep):
        logits = self.model(ids)[:, :-1][:, -logits_to_keep:]
        return logits.log_softmax(-1).gather(2, ids[:, -logits_to_keep:, None]).squeeze(2)

    def prepare(self, prompts, new_tokens):
        prompts = prompts.repeat_interleave(self.num_generations, 0)
        ids = generate(self.model, prompts, new_tokens)
        rewards = length_reward(ids[:, -new_tokens:]).view(-1, self.num_generations)
        advantages = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
        old = None
        if self.num_iterations > 1:
            with torch.no_grad():
                old = self.get_per_token_logps(ids, new_tokens)
        return {"ids": ids, "advantages": advantages.view(-1), "old": old, "keep": new_tokens}

    def compute_loss(self, inputs):
        per_token_logps = self.get_per_token_logps(inputs["ids"], inputs["keep"])
        old_per_token_logps = per_token_logps if inputs["old"] is None else inputs["old"]  # cause
        coef_1 = torch.exp(per_token_logps - old_per_token_logps)
        coef_2 = torch.clamp(coef_1, 1 - self.epsilon, 1 + self.epsilon)
        advantages = inputs["advantages"].unsqueeze(1)
        return -torch.min(coef_1 * advantages, coef_2 * advantages).mean()

    def train(self, prompts):
        for batch in prompts:
            inputs = self.prepare(batch, new_tokens=6)
            for _ in range(self.num_iterations):
                loss = self.compute_loss(inputs)
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()


def run():
    torch.manual_seed(0)
    model = PolicyLM()
    start = [p.detach().clone() for p in model.parameters()]
    GRPOTrainer(model).train([torch.randint(0, 24, (3, 4)) for _ in range(4)])
    return [F.mse_loss(p.detach(), s).item() for p, s in zip(model.parameters(), start)]


def verify(moved):
    assert max(moved) < 1e-8, moved


TRUTH = Truth(
    fault="the ratio of a log-probability to itself: its gradient is zero, nothing is learnt",
    names=("per_token_logps",),
    repair=('old_per_token_logps = per_token_logps.detach() if inputs["old"] is None else inputs["old"]',),
)
