"""Fine-tuning: a LoRA layer that merges on eval() forgets to say so, and train() never takes the update out again."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class LoRALayer:
    def __init__(self, r, lora_alpha, lora_dropout, merge_weights):
        self.r, self.lora_alpha = r, lora_alpha
        self.lora_dropout = nn.Dropout(p=lora_dropout) if lora_dropout > 0.0 else (lambda x: x)
        self.merged = False
        self.merge_weights = merge_weights


class Linear(nn.Linear, LoRALayer):
    """LoRA implemented in a dense layer."""

    def __init__(self, in_features, out_features, r=0, lora_alpha=1, lora_dropout=0.0, merge_weights=True, **kwargs):
        nn.Linear.__init__(self, in_features, out_features, **kwargs)
        LoRALayer.__init__(self, r, lora_alpha, lora_dropout, merge_weights)
        if r > 0:
            self.lora_A = nn.Parameter(self.weight.new_zeros((r, in_features)))
            self.lora_B = nn.Parameter(self.weight.new_zeros((out_features, r)))
            self.scaling = lora_alpha / r
            self.weight.requires_grad = False
            nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def delta(self):
        return (self.lora_B @ self.lora_A) * self.scaling

    def train(self, mode=True):
        nn.Linear.train(self, mode)
        if mode:
            if self.merge_weights and self.merged:
                self.weight.data -= self.delta()
                self.merged = False
        elif self.merge_weights and not self.merged:
            self.weight.data += self.delta()
            self.merge_weights = True  # cause
        return self

    def forward(self, x):
        if self.r > 0 and not self.merged:
            result = F.linear(x, self.weight, bias=self.bias)
            return result + (self.lora_dropout(x) @ self.lora_A.t() @ self.lora_B.t()) * self.scaling
        return F.linear(x, self.weight, bias=self.bias)


class Classifier(nn.Module):
    def __init__(self, vocab=40, dim=16, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.q_proj = Linear(dim, dim, r=4, lora_alpha=8)
        self.v_proj = Linear(dim, dim, r=4, lora_alpha=8)
        self.score = nn.Linear(dim, classes)

    def forward(self, ids):
        x = self.embed(ids)
        q, v = self.q_proj(x), self.v_proj(x)
        att = torch.softmax(q @ x.transpose(1, 2) / math.sqrt(q.size(-1)), dim=-1)
        return self.score((att @ v).mean(1))


def mark_only_lora_as_trainable(model, also=("score",)):
    for n, p in model.named_parameters():
        if "lora_" not in n and not n.startswith(also):
            p.requires_grad = False


@torch.no_grad()
def evaluate(model, batches):
    model.eval()
    hits = sum((model(x).argmax(-1) == y).sum().item() for x, y in batches)
    return hits / sum(len(y) for _, y in batches)


def run():
    torch.manual_seed(0)
    model = Classifier()
    mark_only_lora_as_trainable(model)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    batches = [(torch.randint(0, 40, (8, 6)), torch.randint(0, 3, (8,))) for _ in range(3)]
    base = model.v_proj.weight.detach().clone()
    for epoch in range(2):
        model.train()
        for ids, y in batches:
            loss = F.cross_entropy(model(ids), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        evaluate(model, batches)
    model.train()
    return base, model.v_proj.weight.detach().clone()


def verify(outcome):
    base, after = outcome
    assert not torch.allclose(base, after, atol=1e-5)


TRUTH = Truth(
    fault="the merge is not recorded (merged stays False), so the frozen base weight keeps the update at every evaluation",
    names=("weight",),
    repair=("self.merged = True",),
)
