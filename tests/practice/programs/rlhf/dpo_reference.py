"""DPO: the reference model is a shallow copy of the policy and walks with it."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class CausalLM(nn.Module):
    def __init__(self, vocab=32, dim=16, heads=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, 16, dim) * 0.02)
        self.block = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        n = ids.size(1)
        mask = torch.full((n, n), float("-inf")).triu(1)
        return self.head(self.block(self.embed(ids) + self.pos[:, :n], src_mask=mask))


def sequence_logp(model, ids, prompt_len):
    logp = F.log_softmax(model(ids[:, :-1]), dim=-1)
    picked = logp.gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return picked[:, prompt_len - 1 :].sum(-1)


def preference_batch(n=8, prompt_len=3, answer_len=5, vocab=32):
    prompt = torch.randint(0, vocab, (n, prompt_len))
    chosen = torch.randint(0, vocab // 2, (n, answer_len))
    rejected = torch.randint(vocab // 2, vocab, (n, answer_len))
    return torch.cat([prompt, chosen], 1), torch.cat([prompt, rejected], 1)


class DPOTrainer:
    def __init__(self, model, beta=0.5, lr=1e-2):
        self.model, self.beta = model, beta
        self.ref_model = copy.copy(model)  # cause
        self.optimizer = torch.optim.RMSprop(model.parameters(), lr=lr)
        self.warmup = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: min(1.0, (s + 1) / 2))

    def loss(self, chosen, rejected, prompt_len):
        pi = sequence_logp(self.model, chosen, prompt_len) - sequence_logp(self.model, rejected, prompt_len)
        with torch.no_grad():
            ref_c = sequence_logp(self.ref_model, chosen, prompt_len)
            ref_r = sequence_logp(self.ref_model, rejected, prompt_len)
        margin = pi - (ref_c - ref_r)
        return -F.logsigmoid(self.beta * margin).mean(), margin.detach()

    def step(self, chosen, rejected, prompt_len=3):
        loss, margin = self.loss(chosen, rejected, prompt_len)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.warmup.step()
        return margin.abs().max().item()


def run():
    torch.manual_seed(0)
    trainer = DPOTrainer(CausalLM())
    start = trainer.model.head.weight.detach().clone()
    margins = [trainer.step(*preference_batch()) for _ in range(4)]
    return margins, start, trainer.model.head.weight.detach()


def verify(outcome):
    margins, start, end = outcome
    assert not torch.equal(start, end)
    assert max(margins) < 1e-4


TRUTH = Truth(
    fault="copy.copy shares the parameters: policy and reference are always the same, the margin stays zero",
    names=("ref_model",),
    repair=("self.ref_model = copy.deepcopy(model).requires_grad_(False)",),
)
