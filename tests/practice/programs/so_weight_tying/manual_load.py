"""Language model: weights are put in one by one as new Parameters, which unties the embedding from the output layer."""

import io

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class TiedLM(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.Linear(dim, vocab, bias=False)
        self.decoder.weight = self.encoder.weight

    def forward(self, idx):
        h, _ = self.rnn(self.drop(self.encoder(idx)))
        return self.decoder(self.drop(h))


def save(model):
    f = io.BytesIO()
    torch.save(model.state_dict(), f)
    f.seek(0)
    return f


def load_matching(model, f):
    """Load whatever fits in name and shape, as the vocabularies may differ."""
    saved = torch.load(f)
    own = model.state_dict()
    n = 0
    for key, value in saved.items():
        if key not in own or own[key].shape != value.shape:
            continue
        module_name, _, leaf = key.rpartition(".")
        module = model.get_submodule(module_name)
        setattr(module, leaf, nn.Parameter(value.clone()))  # cause
        n += 1
    return n


def train(model, steps, lr=1e-2):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for _ in range(steps):
        idx = torch.randint(0, 20, (4, 9))
        logits = model(idx[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), idx[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    pretrained = TiedLM()
    train(pretrained, 2)
    model = TiedLM()
    assert load_matching(model, save(pretrained)) > 0
    train(model, 3)
    return model


def verify(model):
    assert not torch.equal(model.encoder.weight, model.decoder.weight)


TRUTH = Truth(
    fault="setattr with a new Parameter for each key makes encoder.weight and decoder.weight two parameters, so they drift apart",
    names=("decoder.weight",),
    repair=("getattr(module, leaf).data.copy_(value)",),
)
