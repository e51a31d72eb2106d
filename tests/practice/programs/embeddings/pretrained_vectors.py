"""Pretrained word vectors are to be fine-tuned, but `Embedding.from_pretrained` freezes them unless told otherwise."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

WORDS = "<pad> <unk> good bad great awful film plot actor boring fun not very".split()


def load_glove(words, dim=8):
    gen = torch.Generator().manual_seed(3)
    vectors = torch.randn(len(words), dim, generator=gen) * 0.4
    vectors[0] = 0
    return vectors


class TextCNN(nn.Module):
    def __init__(self, vectors, widths=(2, 3), maps=4, classes=2):
        super().__init__()
        self.emb = nn.Embedding.from_pretrained(vectors, padding_idx=0)  # cause
        self.convs = nn.ModuleList(nn.Conv1d(vectors.shape[1], maps, w) for w in widths)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(maps * len(widths), classes)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        pooled = [F.relu(conv(x)).amax(-1) for conv in self.convs]
        return self.fc(self.dropout(torch.cat(pooled, 1)))


def reviews():
    lines = [("good fun film", 1), ("boring awful plot", 0), ("not very good actor", 0), ("great plot very fun", 1)]
    ids = [torch.tensor([WORDS.index(w) for w in text.split()]) for text, _ in lines]
    return nn.utils.rnn.pad_sequence(ids, batch_first=True), torch.tensor([y for _, y in lines])


def run():
    torch.manual_seed(0)
    model = TextCNN(load_glove(WORDS))
    opt = torch.optim.Adam(
        [
            {"params": model.emb.parameters(), "lr": 1e-4},
            {"params": [p for n, p in model.named_parameters() if not n.startswith("emb")]},
        ],
        lr=1e-2,
    )
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
    x, y = reviews()
    for epoch in range(3):
        model.train()
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step(loss.item())
        print(f"epoch {epoch} loss {loss.item():.4f}")
    return model


def verify(out):
    assert torch.equal(out.emb.weight, load_glove(WORDS))


TRUTH = Truth(
    fault="the word vectors are frozen although the optimizer has them",
    names=("emb.weight",),
    minor=True,  # with a setting freeze=cfg.freeze it would look the same
    repair=("self.emb = nn.Embedding.from_pretrained(vectors, freeze=False, padding_idx=0)",),
)
