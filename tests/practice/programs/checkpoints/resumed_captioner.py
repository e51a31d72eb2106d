"""Resume: the optimizer's parameters come in another order than saved, and momenta meet the wrong ones."""

import io

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Captioner(nn.Module):
    def __init__(self, vocab=20, dim=8):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 16, dim)
        )
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, img, caption):
        h0 = self.cnn(img)[None]
        return self.out(self.gru(self.emb(caption), h0)[0])

    def decoder_parameters(self):
        return [*self.emb.parameters(), *self.gru.parameters(), *self.out.parameters()]


def train(model, opt, steps):
    for _ in range(steps):
        img, cap = torch.rand(2, 3, 8, 8), torch.randint(0, 20, (2, 6))
        logits = model(img, cap[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), cap[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()  # symptom
    return loss.item()


def save(model, opt, file):
    torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, file)


def first_run(file):
    model = Captioner()
    encoder, decoder = list(model.cnn.parameters()), model.decoder_parameters()
    opt = torch.optim.Adam(encoder + decoder, lr=4e-4)
    print("first run", train(model, opt, 2))
    save(model, opt, file)


def resumed_run(file):
    ckpt = torch.load(file, weights_only=True)
    model = Captioner()
    model.load_state_dict(ckpt["model"])
    encoder, decoder = list(model.cnn.parameters()), model.decoder_parameters()
    opt = torch.optim.Adam(decoder + encoder, lr=4e-4)  # cause
    opt.load_state_dict(ckpt["opt"])  # also
    print("resumed", train(model, opt, 2))
    return model


def run():
    torch.manual_seed(0)
    file = io.BytesIO()
    first_run(file)
    file.seek(0)
    return resumed_run(file)


TRUTH = Truth(
    fault="the loaded state belongs to other parameters",
    raises="The size of tensor a",
    repair=("opt = torch.optim.Adam(encoder + decoder, lr=4e-4)",),
)
