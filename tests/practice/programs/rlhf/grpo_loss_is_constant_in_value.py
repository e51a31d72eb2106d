"""GRPO with one inner step: exp(logp - logp.detach()) is 1 everywhere, the loss is minus the mean advantage, yet it trains."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

VOCAB, LENGTH, GROUP = 7, 5, 6


class TinyPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 12)
        self.rnn = nn.GRU(12, 12, batch_first=True)
        self.lm_head = nn.Linear(12, VOCAB, bias=False)
        self.lm_head.weight = self.embed.weight

    def forward(self, ids):
        return self.lm_head(self.rnn(self.embed(ids))[0])


@torch.no_grad()
def generate(policy, prompts):
    policy.eval()
    ids = prompts
    for _ in range(LENGTH):
        probs = policy(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], 1)
    policy.train()
    return ids


def per_token_logps(policy, ids):
    logits = policy(ids[:, :-1])[:, -LENGTH:]
    return logits.log_softmax(-1).gather(-1, ids[:, -LENGTH:, None]).squeeze(-1)


def reward(ids):
    return (ids[:, -LENGTH:] == 2).float().sum(1)


def run():
    torch.manual_seed(0)
    policy = TinyPolicy()
    reference = TinyPolicy()
    reference.load_state_dict(policy.state_dict())
    reference.requires_grad_(False).eval()
    opt = torch.optim.AdamW(policy.parameters(), lr=1e-2)
    start = [p.detach().clone() for p in policy.parameters()]
    trail = []
    for _ in range(3):
        prompts = torch.randint(VOCAB, (2, 3)).repeat_interleave(GROUP, 0)
        ids = generate(policy, prompts)
        r = reward(ids).view(-1, GROUP)
        adv = ((r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        logps = per_token_logps(policy, ids)
        with torch.no_grad():
            ref = per_token_logps(reference, ids)
        ratio = torch.exp(logps - logps.detach())
        kl = torch.exp(ref - logps) - (ref - logps) - 1
        loss = -(torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv) - 0.04 * kl).mean()
        opt.zero_grad()
        loss.backward()
        grads = [p.grad.clone() for p in policy.parameters()]
        reinforce = -(per_token_logps(policy, ids) * adv).mean()
        diff = ref - per_token_logps(policy, ids)
        reinforce = reinforce + 0.04 * (diff.exp() - diff - 1).mean()
        wanted = torch.autograd.grad(reinforce, list(policy.parameters()))
        trail.append((ratio.detach(), grads, wanted))
        opt.step()
    return trail, start, [p.detach().clone() for p in policy.parameters()]


def verify(outcome):
    trail, start, end = outcome
    for ratio, grads, wanted in trail:
        assert torch.equal(ratio, torch.ones_like(ratio))
        for g, w in zip(grads, wanted):
            assert torch.allclose(g, w, atol=1e-6)
    assert any(g.abs().max() > 0 for g in trail[0][1])
    assert all(not torch.equal(a, b) for a, b in zip(start, end))


TRUTH = Truth()
