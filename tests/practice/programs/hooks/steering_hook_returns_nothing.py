"""A steering vector is trained by a forward hook that computes the new output and does not return it."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth


class Steering(nn.Module):
    def __init__(self, dim, scale=4.0):
        super().__init__()
        self.vector = nn.Parameter(torch.randn(dim) * 0.02)
        self.scale = scale

    def attach(self, layer):
        return layer.register_forward_hook(self.hook)

    def hook(self, module, inputs, output):
        hidden = output[0] if isinstance(output, tuple) else output
        steered = hidden + self.scale * self.vector
        output = (steered, *output[1:]) if isinstance(output, tuple) else steered  # cause


def run():
    torch.manual_seed(0)
    lm = GPT2LMHeadModel(GPT2Config(vocab_size=20, n_positions=16, n_embd=8, n_layer=2, n_head=2))
    lm.lm_head.weight.requires_grad_(True)
    for name, p in lm.named_parameters():
        p.requires_grad_("ln_f" in name)
    steering = Steering(8)
    handle = steering.attach(lm.transformer.h[0])
    opt = torch.optim.Adam([*steering.parameters(), *lm.transformer.ln_f.parameters()], lr=1e-2)
    for _ in range(3):
        ids = torch.randint(20, (2, 6))
        loss = lm(input_ids=ids, labels=ids).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    handle.remove()
    return steering


def verify(steering):
    assert steering.vector.grad is None


TRUTH = Truth(
    fault="the hook returns nothing, so the vector takes no part",
    names=("vector",),
    repair=("return (steered, *output[1:]) if isinstance(output, tuple) else steered",),
)
