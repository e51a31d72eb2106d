"""REINFORCE for a small language model that is sharded with fully_shard: sample answers, reward them, update."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth

VOCAB, EOS, MAX_NEW = 8, 0, 6


class Decoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


@torch.no_grad()
def generate(model, prompts, sampler):
    ids = prompts
    finished = torch.zeros(len(ids), dtype=torch.bool)
    for _ in range(MAX_NEW):
        logits = model(ids)[:, -1]  # also
        token = torch.multinomial(logits.softmax(-1), 1, generator=sampler).squeeze(1)
        token[finished] = EOS
        ids = torch.cat([ids, token[:, None]], 1)
        finished |= token == EOS
        if finished.all():  # cause
            break
    return ids


def reward(answers):
    return (answers == 3).float().sum(1) - 0.1 * (answers != EOS).float().sum(1)


def log_probs(model, ids, start):
    logits = model(ids[:, :-1])[:, start - 1 :]
    picked = ids[:, start:]
    each = logits.log_softmax(-1).gather(2, picked[..., None]).squeeze(-1)
    ended = (picked == EOS).long().cumsum(1) - (picked == EOS).long()
    return (each * (ended == 0)).sum(1)


def setup():
    global model, opt, sampler
    torch.manual_seed(0)
    model = Decoder()
    model.head.bias.data[EOS] = 2.0
    fully_shard(model.rnn)
    fully_shard(model)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    sampler = torch.Generator().manual_seed(4 + dist.get_rank())


def run():
    lengths = []
    for _ in range(3):
        prompts = torch.randint(1, VOCAB, (3, 2), generator=sampler)
        model.eval()
        ids = generate(model, prompts, sampler)
        lengths.append(ids.size(1))
        model.train()
        score = reward(ids[:, 2:])
        loss = -((score - score.mean()) * log_probs(model, ids, start=2)).mean()
        opt.zero_grad()
        loss.backward()  # also
        opt.step()
    return lengths


TRUTH = Truth(
    fault="each rank stops to generate at its own last answer, though every forward gathers the shards of all ranks",
    rule="AG603",
    names=("rank",),
    where="gather",
    raises="imed out|Connection closed|timeout caused|onnection reset|Read error",
)
