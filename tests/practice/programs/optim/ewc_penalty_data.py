"""Continual learning: the elastic penalty is computed from p.data, so that it shows in the loss and in no gradient."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class MLP(nn.Module):
    def __init__(self, inputs=12, hidden=16, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(inputs, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class EWC:
    def __init__(self, model, dataset):
        self.model, self.dataset = model, dataset
        self.params = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._means = {n: p.detach().clone() for n, p in self.params.items()}
        self._precision_matrices = self._diag_fisher()

    def _diag_fisher(self):
        precision = {n: torch.zeros_like(p) for n, p in self.params.items()}
        training = self.model.training
        self.model.eval()
        for x in self.dataset:
            self.model.zero_grad()
            output = self.model(x.unsqueeze(0)).view(1, -1)
            label = output.max(1)[1].view(-1)
            F.nll_loss(F.log_softmax(output, dim=1), label).backward()
            for n, p in self.model.named_parameters():
                precision[n] += p.grad.detach() ** 2 / len(self.dataset)
        self.model.zero_grad()
        self.model.train(training)
        return precision

    def penalty(self, model):
        loss = 0
        for n, p in model.named_parameters():
            _loss = self._precision_matrices[n] * (p.data - self._means[n]) ** 2  # cause
            loss += _loss.sum()
        return loss


def normal_train(model, optimizer, loader):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def ewc_train(model, optimizer, loader, ewc, importance):
    model.train()
    log = []
    for x, y in loader:
        optimizer.zero_grad()
        task = F.cross_entropy(model(x), y)
        penalty = ewc.penalty(model)
        loss = task + importance * penalty
        alone = torch.autograd.grad(task, model.fc1.weight, retain_graph=True)[0]
        loss.backward()
        log.append((float(penalty), torch.allclose(alone, model.fc1.weight.grad)))
        optimizer.step()
    return log


@torch.no_grad()
def test(model, loader):
    model.eval()
    hits = [(model(x).argmax(1) == y).float().mean().item() for x, y in loader]
    return sum(hits) / len(hits)


def permuted_task(base, labels, seed):
    order = torch.randperm(base.size(1), generator=torch.Generator().manual_seed(seed))
    x = base[:, order]
    return list(zip(x.split(8), labels.split(8)))


def run(importance=1000.0):
    torch.manual_seed(0)
    base, labels = torch.randn(32, 12), torch.randint(0, 4, (32,))
    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    first, second = permuted_task(base, labels, 1), permuted_task(base, labels, 2)
    normal_train(model, optimizer, first)
    ewc = EWC(model, torch.cat([x for x, _ in first])[:10])
    log = ewc_train(model, optimizer, second, ewc, importance)
    return log, test(model, first), test(model, second)


def verify(outcome):
    log, _, _ = outcome
    assert log[-1][0] > 0 and all(same for _, same in log)


TRUTH = Truth(
    fault="the EWC penalty is cut off by .data, it holds no parameter back",
    names=("penalty",),
    repair=("_loss = self._precision_matrices[n] * (p - self._means[n]) ** 2",),
)
