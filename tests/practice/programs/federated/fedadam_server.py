"""FedAdam: the server takes the clients' mean movement for a gradient and hands it to Adam; nothing is backpropagated."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class NextWord(nn.Module):
    def __init__(self, vocab=12, dim=6):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


def client_update(global_model, shards, lr=0.2):
    model = copy.deepcopy(global_model).train()
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for ids in shards:
        opt.zero_grad()
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    with torch.no_grad():
        delta = [new - old for new, old in zip(model.parameters(), global_model.parameters())]
    return delta, sum(map(len, shards)), loss.item()


class FedAdamServer:
    def __init__(self, model, server_lr=0.02):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=server_lr, betas=(0.9, 0.99), eps=1e-3)

    def step(self, results):
        total = sum(n for _, n, _ in results)
        self.opt.zero_grad()
        for i, p in enumerate(self.model.parameters()):
            # Adam descends, the clients have moved: the pseudo-gradient is minus the mean delta
            p.grad = -sum(delta[i] * (n / total) for delta, n, _ in results)
        self.opt.step()


def run():
    torch.manual_seed(0)
    server = FedAdamServer(NextWord())
    data = [[torch.randint(0, 12, (4, 7)) for _ in range(2 + c % 2)] for c in range(4)]
    before = [p.detach().clone() for p in server.model.parameters()]
    for rnd in range(4):
        chosen = torch.randperm(4)[:3].tolist()
        results = [client_update(server.model, data[c]) for c in chosen]
        server.step(results)
        print(f"round {rnd} clients {chosen} loss {sum(r[2] for r in results) / 3:.4f}")
    return before, server.model


TRUTH = Truth()


def verify(out):
    before, model = out
    assert all(not torch.equal(b, p) for b, p in zip(before, model.parameters()))
