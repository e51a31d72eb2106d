"""Language: two LoRA adapters share one loss, but activating the second freezes the first before backward."""

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from torch import nn

from tests.practice.truth import Truth

DIM, CLASSES = 16, 4


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(DIM, DIM)
        self.value = nn.Linear(DIM, DIM)
        self.norm = nn.LayerNorm(DIM)

    def forward(self, x):
        weights = torch.softmax(self.query(x) @ x.transpose(1, 2) / DIM**0.5, dim=-1)
        return self.norm(x + weights @ self.value(x)).mean(1)


def with_adapters(names):
    config = LoraConfig(r=2, target_modules=["query", "value"], init_lora_weights=False)
    model = get_peft_model(Encoder(), config, adapter_name=names[0])
    for name in names[1:]:
        model.add_adapter(name, config)
    return model


def adapter_parameters(model, name):
    return [p for n, p in model.named_parameters() if f".{name}." in n]


class TwoViews(nn.Module):
    """Reads the same text as a question and as an answer and scores the pair."""

    def __init__(self):
        super().__init__()
        self.encoder = with_adapters(["question", "answer"])
        self.score = nn.Linear(2 * DIM, CLASSES)

    def view(self, x, adapter):
        self.encoder.set_adapter(adapter)  # cause
        return self.encoder(x)

    def forward(self, q, a):
        left = self.view(q, "question")
        right = self.view(a, "answer")
        return self.score(torch.cat([left, right], dim=-1))


def run():
    torch.manual_seed(0)
    model = TwoViews()
    groups = {name: adapter_parameters(model.encoder, name) for name in ("question", "answer")}
    for params in groups.values():
        for p in params:
            p.requires_grad_(True)
    optimizer = torch.optim.AdamW(
        [{"params": groups["question"]}, {"params": groups["answer"]}, {"params": model.score.parameters()}],
        lr=1e-2,
        weight_decay=0.0,
    )
    before = {name: [p.detach().clone() for p in params] for name, params in groups.items()}
    for _ in range(3):
        q, a = torch.randn(6, 5, DIM), torch.randn(6, 5, DIM)
        loss = F.cross_entropy(model(q, a), torch.randint(0, CLASSES, (6,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: [not torch.equal(b, p) for b, p in zip(before[name], groups[name])] for name in groups}


def verify(outcome):
    assert all(outcome["answer"])
    assert not any(outcome["question"])


TRUTH = Truth(
    fault="set_adapter('answer') sets requires_grad of the question adapter to False, so backward leaves it without gradient",
    names=("question", "set_adapter"),
    repair=(
        'self.encoder.set_adapter(adapter)\nfor n, p in self.encoder.named_parameters():\n    if "lora_" in n:\n        p.requires_grad_(True)',
    ),
)
