"""TorchRec-like, and right: the embeddings are stepped inside backward; the dense optimizer holds the rest."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class EmbeddingBagCollection(nn.Module):
    def __init__(self, tables, dim):
        super().__init__()
        self.embedding_bags = nn.ModuleDict(
            {name: nn.EmbeddingBag(rows, dim, mode="sum") for name, rows in tables.items()}
        )

    def forward(self, features):
        return torch.stack([bag(features[name]) for name, bag in self.embedding_bags.items()], dim=1)


class DLRM(nn.Module):
    def __init__(self, tables, dim=8, dense=5):
        super().__init__()
        self.sparse_arch = EmbeddingBagCollection(tables, dim)
        self.dense_arch = nn.Sequential(nn.Linear(dense, dim), nn.ReLU())
        self.over_arch = nn.Sequential(nn.Linear(dim + 3, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense, sparse):
        d = self.dense_arch(dense)
        allf = torch.cat([d.unsqueeze(1), self.sparse_arch(sparse)], 1)
        inter = allf @ allf.transpose(1, 2)
        i, j = torch.triu_indices(allf.shape[1], allf.shape[1], 1)
        return self.over_arch(torch.cat([d, inter[:, i, j]], 1)).squeeze(1)


def apply_optimizer_in_backward(params, lr):
    """Row-wise Adagrad, fused with backward: the gradient is used and dropped at once."""
    for p in params:
        p.in_backward = True
        momentum = torch.zeros(p.shape[0], 1)

        def fused(param, momentum=momentum):
            with torch.no_grad():
                momentum.add_(param.grad.pow(2).mean(1, keepdim=True))
                param.addcdiv_(param.grad, momentum.sqrt().add_(0.0) + 1e-8, value=-lr)
            param.grad = None

        p.register_post_accumulate_grad_hook(fused)


def run():
    torch.manual_seed(0)
    model = DLRM({"user": 20, "item": 30})
    apply_optimizer_in_backward(model.sparse_arch.parameters(), lr=0.05)
    dense_optimizer = torch.optim.Adam([p for p in model.parameters() if not getattr(p, "in_backward", False)], lr=1e-2)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    losses = []
    dense = torch.randn(16, 5)
    sparse = {"user": torch.randint(0, 20, (16, 3)), "item": torch.randint(0, 30, (16, 3))}
    label = (dense[:, 0] > 0).float()
    for _ in range(4):
        dense_optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(dense, sparse), label)
        loss.backward()
        dense_optimizer.step()
        losses.append(loss.item())
    return losses, {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    losses, moved = outcome
    assert losses[-1] < losses[0]
    assert all(v > 0 for v in moved.values())


TRUTH = Truth()
