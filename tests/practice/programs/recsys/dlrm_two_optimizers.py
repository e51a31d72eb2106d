"""Recommenders: of two optimizers only the dense one is cleared, and the sparse gradients pile up."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class DLRMArgs:
    sparse_feature_size: int = 4
    embedding_sizes: tuple = (12, 9, 7)
    mlp_bot: tuple = (5, 8, 4)
    mlp_top: tuple = (16, 1)
    lr: float = 1e-2
    nbatches: int = 4
    batch: int = 16
    print_freq: int = 2


def create_mlp(sizes, sigmoid_last=False):
    layers = []
    for i, (n, m) in enumerate(zip(sizes[:-1], sizes[1:])):
        layer = nn.Linear(n, m)
        nn.init.normal_(layer.weight, 0.0, (2 / (m + n)) ** 0.5)
        nn.init.normal_(layer.bias, 0.0, (1 / m) ** 0.5)
        layers += [layer, nn.Sigmoid() if sigmoid_last and i == len(sizes) - 2 else nn.ReLU()]
    return nn.Sequential(*layers)


class DLRM_Net(nn.Module):
    def __init__(self, args):
        super().__init__()
        d = args.sparse_feature_size
        self.emb_l = nn.ModuleList(nn.EmbeddingBag(n, d, mode="sum", sparse=True) for n in args.embedding_sizes)
        for emb in self.emb_l:
            nn.init.uniform_(emb.weight, -((1 / emb.num_embeddings) ** 0.5), (1 / emb.num_embeddings) ** 0.5)
        self.bot_l = create_mlp(args.mlp_bot)
        n = len(args.embedding_sizes) + 1
        self.top_l = create_mlp((d + n * (n - 1) // 2, *args.mlp_top), sigmoid_last=True)

    def interact_features(self, x, ly):
        T = torch.stack([x, *ly], dim=1)
        Z = torch.bmm(T, T.transpose(1, 2))
        li, lj = torch.tril_indices(T.size(1), T.size(1), offset=-1)
        return torch.cat([x, Z[:, li, lj]], dim=1)

    def forward(self, dense_x, lS_o, lS_i):
        x = self.bot_l(dense_x)
        ly = [emb(i, o) for emb, i, o in zip(self.emb_l, lS_i, lS_o)]
        return self.top_l(self.interact_features(x, ly)).squeeze(1)


class RandomDataset:
    def __init__(self, args):
        self.args = args

    def __iter__(self):
        a = self.args
        for _ in range(a.nbatches):
            offsets, indices = [], []
            for size in a.embedding_sizes:
                lengths = torch.randint(1, 3, (a.batch,))
                offsets.append(torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)[:-1]]))
                indices.append(torch.randint(size, (int(lengths.sum()),)))
            yield torch.randn(a.batch, a.mlp_bot[0]), offsets, indices, (torch.rand(a.batch) < 0.3).float()


class Trainer:
    def __init__(self, args, model):
        self.args, self.model = args, model
        dense = [p for n, p in model.named_parameters() if not n.startswith("emb_l")]
        self.optimizer = torch.optim.Adagrad(dense, lr=args.lr)
        self.sparse_optimizer = torch.optim.SparseAdam(list(model.emb_l.parameters()), lr=args.lr)
        self.log, self.touched = [], []

    def train(self, data):
        total = 0.0
        for j, (X, lS_o, lS_i, T) in enumerate(data):
            E = F.binary_cross_entropy(self.model(X, lS_o, lS_i), T)
            self.optimizer.zero_grad()  # cause
            E.backward()
            grad = self.model.emb_l[0].weight.grad.coalesce()
            self.touched.append((grad.indices().numel(), lS_i[0].unique().numel()))
            self.optimizer.step()
            self.sparse_optimizer.step()
            total += E.item()
            if (j + 1) % self.args.print_freq == 0:
                self.log.append(total / (j + 1))
        return self.touched


def run():
    torch.manual_seed(727)
    args = DLRMArgs(embedding_sizes=(200, 9, 7))
    return Trainer(args, DLRM_Net(args)).train(RandomDataset(args))


def verify(touched):
    assert touched[0][0] == touched[0][1]
    assert all(have > need for have, need in touched[1:])


TRUTH = Truth(
    fault="sparse_optimizer.zero_grad() is missing: the tables' gradients of all earlier batches are applied again and again",
    names=("emb_l",),
    repair=("self.optimizer.zero_grad(), self.sparse_optimizer.zero_grad()",),
)
