import torch
from torch import nn
import torch.nn.functional as F


class TextClassifier(nn.Module):
    def __init__(self, vocab=30, dim=8):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, 3)

    def forward(self, tokens):
        x = self.embedding(tokens)
        x = self.norm(x)
        return self.fc(x)


def run():
    model = TextClassifier()
    no_decay = [p for n, p in model.named_parameters() if "norm" in n or n.endswith("bias")]
    decay = [p for n, p in model.named_parameters() if not ("norm" in n or n.endswith("bias"))]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=1e-3
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 3))
    accumulation_steps, running = 2, 0.0
    optimizer.zero_grad()
    for i in range(8):
        tokens, labels = torch.randint(0, 30, (4, 6)), torch.randint(0, 3, (4,))
        outputs = model(tokens)
        loss = F.cross_entropy(outputs, labels)
        running += loss.item()
        loss = loss / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    return model, running
