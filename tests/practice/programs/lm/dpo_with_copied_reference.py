"""DPO by hand: a frozen copy is the reference, both halves of a pair go through one pass, rewards are logged as numbers."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TinyLM(nn.Module):
    def __init__(self, vocab=16, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def get_batch_logps(logits, labels, ignore=-100):
    labels = labels[:, 1:].clone()
    logits = logits[:, :-1]
    loss_mask = labels != ignore
    labels[labels == ignore] = 0
    per_token = logits.log_softmax(-1).gather(2, labels.unsqueeze(2)).squeeze(2)
    return (per_token * loss_mask).sum(-1)


def dpo_loss(pi_c, pi_r, ref_c, ref_r, beta=0.1):
    logits = (pi_c - pi_r) - (ref_c - ref_r)
    losses = -F.logsigmoid(beta * logits)
    return losses, beta * (pi_c - ref_c).detach(), beta * (pi_r - ref_r).detach()


def run():
    torch.manual_seed(0)
    policy = TinyLM()
    reference = copy.deepcopy(policy).eval()
    for p in reference.parameters():
        p.requires_grad = False
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lambda step: min(1.0, (step + 1) / 3))
    margins, accs = [], []
    for _ in range(4):
        prompt = torch.randint(16, (4, 3))
        chosen, rejected = (torch.cat([prompt, torch.randint(16, (4, 4))], 1) for _ in range(2))
        ids = torch.cat([chosen, rejected])
        labels = ids.clone()
        labels[:, :3] = -100
        policy_logps = get_batch_logps(policy(ids), labels)
        with torch.no_grad():
            ref_logps = get_batch_logps(reference(ids), labels)
        losses, reward_c, reward_r = dpo_loss(*policy_logps.chunk(2), *ref_logps.chunk(2))
        loss = losses.mean()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        margins.append((reward_c - reward_r).mean().cpu().numpy().item())
        accs.append((reward_c > reward_r).float().mean().item())
    return policy, reference, margins, accs


TRUTH = Truth()


def verify(out):
    policy, reference, margins, accs = out
    assert margins[0] == 0 and margins[-1] != 0
    assert not torch.equal(policy.head.weight, reference.head.weight)
    assert all(p.grad is None for p in reference.parameters())
