"""Matrix factorisation with sparse embeddings: SGD's weight decay does not work with sparse gradients."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class BiasedMF(nn.Module):
    def __init__(self, users, items, dim=6, sparse=True):
        super().__init__()
        self.P, self.Q = nn.Embedding(users, dim, sparse=sparse), nn.Embedding(items, dim, sparse=sparse)
        self.bu, self.bi = nn.Embedding(users, 1, sparse=sparse), nn.Embedding(items, 1, sparse=sparse)
        self.mu = nn.Parameter(torch.tensor(3.5))
        for emb in (self.P, self.Q):
            nn.init.normal_(emb.weight, std=0.1)
        for emb in (self.bu, self.bi):
            nn.init.zeros_(emb.weight)

    def forward(self, u, i):
        return self.mu + (self.bu(u) + self.bi(i)).squeeze(-1) + (self.P(u) * self.Q(i)).sum(-1)


class Ratings(torch.utils.data.Dataset):
    def __init__(self, n=48, users=10, items=12):
        gen = torch.Generator().manual_seed(0)
        self.u = torch.randint(0, users, (n,), generator=gen)
        self.i = torch.randint(0, items, (n,), generator=gen)
        self.r = torch.randint(1, 6, (n,), generator=gen).float()

    def __len__(self):
        return len(self.r)

    def __getitem__(self, k):
        return self.u[k], self.i[k], self.r[k]


def run():
    torch.manual_seed(0)
    train, test = torch.utils.data.random_split(Ratings(), [40, 8])
    model = BiasedMF(10, 12)  # also
    opt = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=1e-4)  # cause
    for epoch in range(2):
        total = 0.0
        for u, i, r in torch.utils.data.DataLoader(train, batch_size=20, shuffle=True):
            loss = F.mse_loss(model(u, i), r)
            opt.zero_grad()
            loss.backward()
            opt.step()  # symptom
            total += loss.item() * len(r)
        with torch.no_grad():
            u, i, r = (torch.stack(col) for col in zip(*test))
            rmse = F.mse_loss(model(u, i), r).sqrt().item()
        print(f"epoch {epoch} train {total / 40:.3f} test rmse {rmse:.3f}")
    return model


TRUTH = Truth(
    fault="weight decay on parameters with sparse gradients",
    raises="add(sparse, dense) is not supported",
    names=("sparse",),
    repair=("opt = torch.optim.SGD(model.parameters(), lr=0.05)",),
)
