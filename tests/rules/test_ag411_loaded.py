"""AG411: a part of a model that a library returned in eval mode, and that is trained like that."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

transformers = pytest.importorskip("transformers")

IDS = torch.arange(12).view(2, 6)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """What was trained before."""
    path = str(tmp_path_factory.mktemp("tiny"))
    config = transformers.DistilBertConfig(
        vocab_size=12, dim=8, n_layers=1, n_heads=2, hidden_dim=8, max_position_embeddings=8, dropout=0.2
    )
    transformers.DistilBertModel(config).save_pretrained(path)
    return path


class Tagger(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.body = transformers.DistilBertModel.from_pretrained(path)  # loaded
        self.head = nn.Linear(8, 2)

    def forward(self, ids):
        return self.head(self.body(input_ids=ids).last_hidden_state)


def training(path, prepare=lambda net: None):
    net = Tagger(path)
    prepare(net)
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        trained(optimizer, net(IDS).pow(2).mean())


def test_a_loaded_part_that_nobody_put_into_train_mode(path):
    """The line that loads it is told, and the dropouts that drop nothing."""
    diagnosed(
        lambda: training(path), "AG411", "# loaded", "body", "dropout", "train()", severity="warning", where=Tagger
    )


def test_a_loaded_part_whose_mode_is_meant(path):
    """train() of the model, eval() by the program itself, all of it in eval mode, or nothing in it that learns."""
    calm(
        lambda: training(path, lambda net: net.train()),
        lambda: training(path, lambda net: net.body.eval()),
        lambda: training(path, lambda net: net.eval()),
        lambda: training(path, lambda net: net.body.requires_grad_(False)),
    )
