"""Recommendation: DLRM with sparse embedding bags, two optimizers and its own interaction; healthy."""
import numpy as np
import torch
import torch.nn as nn

from tests.practice.truth import Truth


class DLRM_Net(nn.Module):
    def __init__(self, m_spa, ln_emb, ln_bot, ln_top):
        super().__init__()
        np.random.seed(0)
        self.emb_l = self.create_emb(m_spa, ln_emb)
        self.bot_l = self.create_mlp(ln_bot, -1)
        self.top_l = self.create_mlp(ln_top, len(ln_top) - 2)

    @staticmethod
    def create_emb(m, ln):
        emb_l = nn.ModuleList()
        for n in ln:
            EE = nn.EmbeddingBag(n, m, mode="sum", sparse=True)
            W = np.random.uniform(low=-np.sqrt(1 / n), high=np.sqrt(1 / n), size=(n, m)).astype(np.float32)
            EE.weight.data = torch.tensor(W, requires_grad=True)
            emb_l.append(EE)
        return emb_l

    @staticmethod
    def create_mlp(ln, sigmoid_layer):
        layers = nn.ModuleList()
        for i in range(len(ln) - 1):
            LL = nn.Linear(int(ln[i]), int(ln[i + 1]))
            W = np.random.normal(0.0, np.sqrt(2 / (ln[i] + ln[i + 1])), size=(ln[i + 1], ln[i])).astype(np.float32)
            LL.weight.data = torch.tensor(W)
            layers.append(LL)
            layers.append(nn.Sigmoid() if i == sigmoid_layer else nn.ReLU())
        return nn.Sequential(*layers)

    def apply_emb(self, lS_o, lS_i):
        return [E(i, o) for E, i, o in zip(self.emb_l, lS_i, lS_o)]

    def interact_features(self, x, ly):
        batch_size, d = x.shape
        T = torch.cat([x] + ly, dim=1).view((batch_size, -1, d))
        Z = torch.bmm(T, torch.transpose(T, 1, 2))
        _, ni, nj = Z.shape
        li = torch.tensor([i for i in range(ni) for j in range(i)])
        lj = torch.tensor([j for i in range(nj) for j in range(i)])
        return torch.cat([x] + [Z[:, li, lj]], dim=1)

    def forward(self, dense_x, lS_o, lS_i):
        x = self.bot_l(dense_x)
        ly = self.apply_emb(lS_o, lS_i)
        return self.top_l(self.interact_features(x, ly))


def random_batch(n, ln_emb, pooling=3):
    lS_o = [torch.arange(0, n * pooling, pooling) for _ in ln_emb]
    lS_i = [torch.randint(0, size, (n * pooling,)) for size in ln_emb]
    return torch.rand(n, 4), lS_o, lS_i, torch.randint(0, 2, (n, 1)).float()


class LRPolicyScheduler(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, num_warmup_steps):
        self.num_warmup_steps = num_warmup_steps
        super().__init__(optimizer)

    def get_lr(self):
        scale = min(1.0, (self._step_count + 1) / self.num_warmup_steps)
        return [base_lr * scale for base_lr in self.base_lrs]


def run():
    torch.manual_seed(123)
    ln_emb = [10, 20, 5]
    dlrm = DLRM_Net(4, ln_emb, [4, 8, 4], [4 + 6, 8, 1])
    sparse = torch.optim.SparseAdam(list(dlrm.emb_l.parameters()), lr=1e-2)
    dense = torch.optim.Adagrad(list(dlrm.bot_l.parameters()) + list(dlrm.top_l.parameters()), lr=1e-2)
    schedulers = [LRPolicyScheduler(o, 3) for o in (sparse, dense)]
    loss_fn = nn.BCELoss(reduction="none")
    weights = torch.tensor([1.0, 2.0])
    before = {n: p.detach().clone() for n, p in dlrm.named_parameters()}
    for _ in range(4):
        X, lS_o, lS_i, T = random_batch(8, ln_emb)
        Z = dlrm(X, lS_o, lS_i)
        w = weights[T.data.view(-1).long()].view_as(T)
        E = (w * loss_fn(Z, T)).mean()
        for opt in (sparse, dense):
            opt.zero_grad()
        E.backward()
        for opt, sched in zip((sparse, dense), schedulers):
            opt.step()
            sched.step()
    return before, dlrm


def verify(outcome):
    before, dlrm = outcome
    for n, p in dlrm.named_parameters():
        assert not torch.equal(before[n], p), n
    assert all(e.weight.grad.is_sparse for e in dlrm.emb_l)


TRUTH = Truth()
