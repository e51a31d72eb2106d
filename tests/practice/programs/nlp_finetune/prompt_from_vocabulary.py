"""Prompt tuning from vocabulary rows: the prompt is a view of the frozen table, and every step edits the words too."""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth


class PromptTuned(nn.Module):
    def __init__(self, lm, n_tokens=4):
        super().__init__()
        self.lm, self.n_tokens = lm, n_tokens
        for p in self.lm.parameters():
            p.requires_grad = False
        # initialised from the first tokens of the vocabulary (Lester et al. 2021)
        table = self.lm.get_input_embeddings().weight
        self.soft_prompt = nn.Parameter(table[:n_tokens])  # cause

    def forward(self, ids):
        words = self.lm.get_input_embeddings()(ids)
        prompt = self.soft_prompt.expand(len(ids), -1, -1)
        logits = self.lm(inputs_embeds=torch.cat([prompt, words], dim=1)).logits
        return logits[:, self.n_tokens :]

    def save_prompt(self):
        return {"soft_prompt": self.soft_prompt.detach().clone()}


def tune(model, batches, lr=0.05):
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    model.train()
    for step, ids in enumerate(batches):
        logits = model(ids)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()  # symptom
        print(f"step {step} loss {loss.item():.4f}")


def run():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=30, n_positions=24, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    lm = GPT2LMHeadModel(config)
    vocabulary = lm.get_input_embeddings().weight.detach().clone()
    model = PromptTuned(lm)
    tune(model, [torch.randint(0, 30, (4, 9)) for _ in range(4)])
    prompt = model.save_prompt()["soft_prompt"]
    print(f"prompt of {len(prompt)} tokens, norm {prompt.norm():.3f}")
    return lm, vocabulary


def verify(out):
    lm, vocabulary = out
    assert not torch.equal(lm.get_input_embeddings().weight, vocabulary)


TRUTH = Truth(
    fault="a parameter that shares its memory with the frozen table it was initialised from",
    names=("soft_prompt",),
    repair=("self.soft_prompt = nn.Parameter(table[:n_tokens].detach().clone())",),
)
