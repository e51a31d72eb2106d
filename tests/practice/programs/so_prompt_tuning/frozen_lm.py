"""Healthy: prompt tuning of a tiny frozen GPT-2: only the soft prompt trains, the gradient flows through the frozen network."""

import torch
import torch.nn as nn
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth

IGNORE = -100


class SoftPromptLM(nn.Module):
    def __init__(self, lm, n_prompt=4):
        super().__init__()
        self.lm = lm
        for p in self.lm.parameters():
            p.requires_grad = False
        wte = lm.get_input_embeddings().weight
        # start from real tokens
        ids = torch.randint(0, wte.size(0), (n_prompt,))
        self.prompt = nn.Parameter(wte[ids].detach().clone())

    def train(self, mode=True):
        super().train(mode)
        self.lm.eval()  # no dropout in the frozen part
        return self

    def forward(self, input_ids, labels):
        emb = self.lm.get_input_embeddings()(input_ids).detach()
        prompt = self.prompt.unsqueeze(0).expand(len(input_ids), -1, -1)
        pad = labels.new_full((len(labels), self.prompt.size(0)), IGNORE)
        return self.lm(inputs_embeds=torch.cat([prompt, emb], 1), labels=torch.cat([pad, labels], 1)).loss


def tiny_gpt2():
    cfg = GPT2Config(vocab_size=40, n_positions=24, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(cfg)


def batches(n):
    for _ in range(n):
        ids = torch.randint(1, 40, (4, 8))
        ids[:, 4:] = 7
        labels = ids.clone()
        labels[:, :4] = IGNORE
        yield ids, labels


def run():
    torch.manual_seed(0)
    model = SoftPromptLM(tiny_gpt2()).train()
    opt = torch.optim.AdamW([model.prompt], lr=0.05, weight_decay=0.0)
    frozen = {n: p.clone() for n, p in model.lm.named_parameters()}
    losses = []
    for ids, labels in batches(4):
        opt.zero_grad()
        loss = model(ids, labels)
        loss.backward()
        nn.utils.clip_grad_norm_([model.prompt], 1.0)
        opt.step()
        losses.append(loss.item())
    same = all(torch.equal(p, frozen[n]) for n, p in model.lm.named_parameters())
    return losses, same, model.prompt.grad.abs().sum().item()


def verify(outcome):
    losses, same, grad = outcome
    assert same and grad > 0
    assert losses[-1] < losses[0]


TRUTH = Truth()
