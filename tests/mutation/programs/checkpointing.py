import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.w1 = nn.Linear(dim, 2 * dim)
        self.w2 = nn.Linear(2 * dim, dim)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        h = F.silu(self.w1(self.norm(x)))
        return x + self.dropout(self.w2(h))


class Encoder(nn.Module):
    def __init__(self, dim=8, depth=3):
        super().__init__()
        self.embed = nn.Linear(4, dim)
        self.blocks = nn.ModuleList([FeedForward(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        x = self.embed(x)
        first = checkpoint(self.blocks[0], x, use_reentrant=False)
        second = checkpoint(self.blocks[1], first, use_reentrant=True)
        for block in self.blocks[2:]:
            second = checkpoint(block, second, use_reentrant=False)
        pooled = second.mean(dim=1)
        return self.head(pooled)


def run():
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(4):
        x, y = torch.randn(4, 5, 4), torch.randint(0, 2, (4,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return model
