"""RLHF: GRPO with exp(logp - logp.detach()), whose value is one but whose gradient is not (healthy)."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class GRPOConfig:
    num_generations: int = 4
    max_completion_length: int = 5
    beta: float = 0.04
    learning_rate: float = 1e-2
    max_steps: int = 3
    vocab: int = 11


class CausalLM(nn.Module):
    def __init__(self, vocab, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.lm_head(self.rnn(self.embed(ids))[0])

    @torch.no_grad()
    def generate(self, ids, n):
        for _ in range(n):
            probs = self(ids)[:, -1].softmax(-1)
            ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
        return ids


def reward_even(completions):
    return (completions % 2 == 0).float().mean(dim=1)


def completion_mask(completions, eos=0):
    is_eos = (completions == eos).int()
    return (is_eos.cumsum(1) - is_eos < 1).float()


class GRPOTrainer:
    def __init__(self, model, ref_model, cfg):
        self.model, self.ref_model, self.cfg = model, ref_model, cfg
        self.ref_model.requires_grad_(False).eval()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.learning_rate, weight_decay=0.0)
        self.ratios = []

    def per_token_logps(self, model, ids, keep):
        logits = model(ids)[:, :-1][:, -keep:]
        return logits.log_softmax(-1).gather(2, ids[:, -keep:, None]).squeeze(2)

    def compute_loss(self, prompts):
        g, n = self.cfg.num_generations, self.cfg.max_completion_length
        prompts = prompts.repeat_interleave(g, dim=0)
        ids = self.model.generate(prompts, n)
        completions = ids[:, prompts.size(1) :]
        mask = completion_mask(completions)
        rewards = reward_even(completions).view(-1, g)
        advantages = ((rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)).flatten()
        logps = self.per_token_logps(self.model, ids, n)
        with torch.inference_mode():
            ref_logps = self.per_token_logps(self.ref_model, ids, n)
        delta = ref_logps.clone() - logps
        per_token_kl = delta.exp() - delta - 1
        ratio = torch.exp(logps - logps.detach())
        self.ratios.append(ratio.detach())
        per_token_loss = -(ratio * advantages[:, None] - self.cfg.beta * per_token_kl)
        loss = ((per_token_loss * mask).sum(1) / mask.sum(1)).mean()
        score = -((logps * advantages[:, None] * mask).sum(1) / mask.sum(1)).mean()
        kl = self.cfg.beta * ((per_token_kl * mask).sum(1) / mask.sum(1)).mean()
        return loss, score + kl

    def train(self):
        errors = []
        params = list(self.model.parameters())
        for _ in range(self.cfg.max_steps):
            loss, reference = self.compute_loss(torch.randint(1, self.cfg.vocab, (3, 4)))
            want = torch.autograd.grad(reference, params, retain_graph=True)
            self.optimizer.zero_grad()
            loss.backward()
            errors.append(max((w - p.grad).abs().max().item() for w, p in zip(want, params)))
            self.optimizer.step()
        return errors


def run():
    torch.manual_seed(3)
    cfg = GRPOConfig()
    model, ref = CausalLM(cfg.vocab), CausalLM(cfg.vocab)
    ref.load_state_dict(model.state_dict())
    trainer = GRPOTrainer(model, ref, cfg)
    errors = trainer.train()
    moved = [not torch.equal(p, q) for p, q in zip(model.parameters(), ref.parameters())]
    return errors, moved, trainer.ratios


def verify(outcome):
    errors, moved, ratios = outcome
    assert max(errors) < 1e-5 and all(moved)
    assert all(torch.equal(r, torch.ones_like(r)) for r in ratios)


TRUTH = Truth()
