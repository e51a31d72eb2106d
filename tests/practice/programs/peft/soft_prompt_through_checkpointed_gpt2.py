"""Prompt tuning of a frozen GPT-2 via inputs_embeds with gradient checkpointing; only the prompt is a leaf, labels are padded with -100."""

import torch
from torch import nn
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel
from tests.practice.truth import Truth

TOKENS = 3


class SoftPrompt(nn.Module):
    def __init__(self, lm):
        super().__init__()
        self.lm = lm.requires_grad_(False)
        picks = torch.randint(lm.config.vocab_size, (TOKENS,))
        self.prompt = nn.Parameter(lm.transformer.wte.weight[picks].detach().clone())

    def forward(self, ids, labels):
        words = self.lm.transformer.wte(ids)
        embeds = torch.cat([self.prompt.expand(len(ids), -1, -1), words], 1)
        labels = torch.cat([labels.new_full((len(ids), TOKENS), -100), labels], 1)
        return self.lm(inputs_embeds=embeds, labels=labels, use_cache=False).loss


def build():
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=30, n_positions=16, n_embd=8, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
    )
    return SoftPrompt(GPT2LMHeadModel(config))


def batches():
    g = torch.Generator().manual_seed(1)
    for _ in range(3):
        ids = torch.randint(30, (2, 6), generator=g)
        labels = ids.clone()
        labels[:, :2] = -100
        yield ids, labels


def run():
    model = build()
    model.lm.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    opt = torch.optim.AdamW([model.prompt], lr=5e-2, weight_decay=0.0)
    start, fixed = model.prompt.detach().clone(), {k: v.clone() for k, v in model.lm.state_dict().items()}
    log = []
    for ids, labels in batches():
        before = model.prompt.detach().clone()
        loss = model(ids, labels)
        opt.zero_grad()
        loss.backward()
        log.append((ids, labels, before, loss.item(), model.prompt.grad.clone()))
        opt.step()
    return model, start, fixed, log


def verify(outcome):
    model, start, fixed, log = outcome
    assert all(torch.equal(v, fixed[k]) for k, v in model.lm.state_dict().items())
    assert all(p.grad is None for p in model.lm.parameters())
    twin = build().eval()  # without checkpointing, loss by hand
    for ids, labels, before, value, grad in log:
        prompt = before.clone().requires_grad_()
        embeds = torch.cat([prompt.expand(2, -1, -1), twin.lm.transformer.wte.weight[ids]], 1)
        logits = twin.lm(inputs_embeds=embeds).logits[:, TOKENS - 1 : -1]
        keep = labels >= 0
        loss = -logits.log_softmax(-1).gather(2, ids[..., None]).squeeze(2)[keep].mean()
        assert abs(loss.item() - value) < 1e-4
        assert torch.allclose(torch.autograd.grad(loss, prompt)[0], grad, atol=1e-5) and grad.any()
    assert not torch.equal(start, model.prompt)


TRUTH = Truth()
