"""Trainers that compile what they train: what is told is what is told uncompiled, and the weights are the same bits."""

from __future__ import annotations

import functools

import pytest

pytest.importorskip("lightning")
pytest.importorskip("transformers")

import lightning
import torch
import torch._dynamo
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from autograd_inspector import inspect
from autograd_inspector.integrations.transformers import AutogradInspectorCallback
from tests.compiled.twins import observed, said_of

pytestmark = [pytest.mark.stories, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]
BACKEND = "aot_eager"


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Gated(nn.Module):
    """An encoder and a head with a gate between them, and maybe a fault."""

    def __init__(self, encoder, features, fault):
        super().__init__()
        self.encoder, self.fault = encoder, fault
        self.gate, self.head = nn.Linear(features, features), nn.Linear(features, 2)
        if fault == "frozen head":
            self.head.requires_grad_(False)

    def forward(self, x):
        h = self.encoder(x)
        if self.fault == "detached":
            h = h.detach()
        gate = torch.sigmoid(self.gate(h))
        out = self.head(gate * h)
        if self.fault == "written":
            gate.mul_(2)
        return out


class Classifier(lightning.LightningModule):
    """Lightning's module around it."""

    def __init__(self, fault):
        super().__init__()
        self.net = Gated(nn.Sequential(nn.Linear(4, 6), nn.ReLU()), 6, fault)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        return F.cross_entropy(self(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.1)


def by_lightning(fault, way):
    """The trained module. ``way``: what of it is compiled."""
    torch.manual_seed(0)
    data = DataLoader(TensorDataset(torch.randn(9, 4), torch.randint(2, (9,))), batch_size=3)
    trained = fitted = Classifier(fault)
    if way == "torch.compile(module)":
        fitted = torch.compile(trained, backend=BACKEND)
    elif way == "torch.compile(module.net)":
        trained.net = torch.compile(trained.net, backend=BACKEND)
    elif way == "module.net.compile()":
        trained.net.compile(backend=BACKEND)
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        gradient_clip_val=1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(fitted, data)
    return trained


class Text(nn.Module):
    """A tiny BERT in the same place."""

    def __init__(self, fault):
        super().__init__()
        config = BertConfig(
            vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
        )
        self.bert = BertModel(config, add_pooling_layer=False)
        self.rest = Gated(nn.Identity(), 8, fault)

    def forward(self, input_ids, labels):
        logits = self.rest(self.bert(input_ids=input_ids).last_hidden_state[:, 0])
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


def llama():
    """A tiny language model of the library's own."""
    config = LlamaConfig(
        vocab_size=30,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=16,
    )
    return LlamaForCausalLM(config)


class Words(Dataset):
    """Rows of words, of which the first one decides the class."""

    def __init__(self, *, classes):
        self.ids = torch.randint(3, 30, (12, 8), generator=torch.Generator().manual_seed(1))
        self.classes = classes

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, at):
        return {"input_ids": self.ids[at], "labels": self.ids[at][0] % 2 if self.classes else self.ids[at]}


def by_transformers(fault, way, folder, callbacks=()):
    """The trained model. ``way``: the trainer's own flag, or ""."""
    torch.manual_seed(0)
    model = llama() if fault.startswith("llama") else Text(fault)
    options = {"torch_compile": True, "torch_compile_backend": BACKEND} if way else {}
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=3,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        gradient_checkpointing=fault == "llama under checkpoint()",
        learning_rate=1e-2,
        use_cpu=True,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        **options,
    )
    words = Words(classes=not fault.startswith("llama"))
    Trainer(model=model, args=arguments, train_dataset=words, callbacks=list(callbacks)).train()
    return model


def bits(run):
    """The weights that a run ends with, and the random stream."""
    torch._dynamo.reset()
    return [*[p.detach().clone() for p in run().parameters()], torch.get_rng_state()]


def told(run):
    """What is told of this file's lines."""
    torch._dynamo.reset()
    report, _ = observed(run)
    return said_of(report, __file__)


FAULTS = {"": [], "frozen head": [], "detached": ["AG101"], "written": ["AG201"]}
WAYS = ("torch.compile(module)", "torch.compile(module.net)", "module.net.compile()")
CASES = [("lightning", fault, way) for fault in FAULTS for way in WAYS]
CASES += [("transformers", fault, "torch_compile=True") for fault in FAULTS]


@functools.cache
def as_written(trainer, fault, folder):
    """What is told of a fault where nothing is compiled."""
    return told(functools.partial(by_lightning, fault, "") if trainer == "lightning" else runner(fault, "", folder))


def runner(fault, way, folder):
    return functools.partial(by_transformers, fault, way, folder)


@pytest.mark.parametrize(("trainer", "fault", "way"), CASES)
def test_a_trainer_that_compiles(trainer, fault, way, tmp_path_factory):
    """The rule and the lines are those of the same training uncompiled; of a healthy one nothing is told."""
    folder = tmp_path_factory.getbasetemp()
    expected = as_written(trainer, fault, folder)
    assert [rule for rule, _, _ in expected] == FAULTS[fault]
    run = functools.partial(by_lightning, fault, way) if trainer == "lightning" else runner(fault, way, folder)
    assert told(run) == expected


@pytest.mark.parametrize("way", WAYS)
def test_lightning_trains_to_the_same_bits(way):
    """Weights and random stream after compiled training do not depend on the inspector."""
    plain = bits(functools.partial(by_lightning, "", way))
    with inspect() as inspection:
        seen = bits(functools.partial(by_lightning, "", way))
    assert [torch.equal(a, b) for a, b in zip(plain, seen, strict=True)] == [True] * len(plain)
    assert "linear" in [op.name for op in inspection.report.capture.ops]


@pytest.mark.parametrize("fault", ["", "llama", "llama under checkpoint()"])
def test_transformers_trains_to_the_same_bits(fault, tmp_path):
    """So with a model of the library's own, and with one that is recomputed; nothing is told of these."""
    plain = bits(runner(fault, "torch_compile=True", tmp_path))
    with inspect() as inspection:
        seen = bits(runner(fault, "torch_compile=True", tmp_path))
    assert [torch.equal(a, b) for a, b in zip(plain, seen, strict=True)] == [True] * len(plain)
    report = inspection.report
    assert [each.rule for each in report.findings if each.severity != "info"] == []
    assert "linear" in [op.name for op in report.capture.ops]


def test_the_callback_of_transformers_sees_the_compiled_step(tmp_path):
    """The report of a captured step names the line in the compiled forward."""
    callback = AutogradInspectorCallback(formats=())
    by_transformers("detached", "torch_compile=True", tmp_path, [callback])
    (finding,) = [each for each in callback.report.findings if each.severity != "info"]
    assert finding.rule == "AG101"
    assert any("h.detach()" in place.source for place in finding.locations)
