"""Resumes of real libraries: transformers, Lightning, accelerate's wrappers, a GPT with tied weights."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_model
from torch import nn

from autograd_inspector import inspect_checkpoint

from .programs import adam, findings, only, sound


class Tiny(nn.Module):
    """A GPT with its head tied to its embedding, and a mask that is not saved."""

    def __init__(self, vocabulary=11, width=8, depth=2):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.h = nn.ModuleList(nn.TransformerEncoderLayer(width, 2, 16, 0.0, batch_first=True) for _ in range(depth))
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight
        self.register_buffer("mask", torch.ones(4, 4).tril(), persistent=False)

    def forward(self, tokens):
        hidden = self.wte(tokens)
        for block in self.h:
            hidden = block(hidden)
        return self.lm_head(hidden)


def groups(net, **settings):
    """AdamW as GPTs are trained: weight decay for matrices only."""
    matrices = [p for p in net.parameters() if p.dim() > 1]
    vectors = [p for p in net.parameters() if p.dim() == 1]
    return torch.optim.AdamW([{"params": matrices}, {"params": vectors, "weight_decay": 0.0}], **settings)


def trained(net, make=groups):
    optimizer = make(net)
    net(torch.arange(4)[None]).pow(2).mean().backward()
    optimizer.step()
    return optimizer


def test_a_gpt_with_tied_weights(tmp_path):
    """Both names of the tied weight are in the state_dict, one position in the optimizer's: it fits."""
    net = Tiny()
    torch.save({"model": net.state_dict(), "optimizer": trained(net).state_dict()}, tmp_path / "a.pt")
    again = Tiny()
    sound(tmp_path / "a.pt", again, groups(again))


def test_a_gpt_in_safetensors(tmp_path):
    """safetensors keeps tied memory once: info, and the load that accepts it."""
    net = Tiny()
    save_model(net, str(tmp_path / "a.safetensors"))
    finding = only(tmp_path / "a.safetensors", net)
    assert finding.severity == "info"
    exec(finding.fix, {"torch": torch, "net": net})


def test_a_gpt_from_distributed_data_parallel(tmp_path):
    """module. before every name of the model; the optimizer's positions fit as they are."""
    net = Tiny()
    state = {f"module.{name}": tensor for name, tensor in net.state_dict().items()}
    torch.save({"model": state, "optimizer": trained(net).state_dict()}, tmp_path / "a.pt")
    assert "DistributedDataParallel" in only(tmp_path / "a.pt", net, groups(net)).message


def test_a_compiled_gpt(tmp_path):
    """torch.compile(model).state_dict(), and the compiled model itself."""
    net = Tiny()
    compiled = torch.compile(net)
    torch.save({"model": compiled.state_dict()}, tmp_path / "a.pt")
    assert "torch.compile" in only(tmp_path / "a.pt", net).message
    sound(tmp_path / "a.pt", compiled)
    torch.save({"model": net.state_dict()}, tmp_path / "b.pt")
    assert "torch.compile" in only(tmp_path / "b.pt", compiled).message


def test_a_gpt_with_other_groups(tmp_path):
    """Saved with decay groups, resumed with one: refused, with the groups to rebuild."""
    net = Tiny()
    torch.save({"model": net.state_dict(), "optimizer": trained(net).state_dict()}, tmp_path / "a.pt")
    finding = only(tmp_path / "a.pt", net, adam(net))
    assert finding.severity == "error"
    names = {"torch": torch, "net": net, "optimizer": adam(net)}
    exec(finding.fix, names)
    assert names["optimizer"].state[net.wte.weight]["exp_avg"].shape == net.wte.weight.shape


def test_a_gpt_with_a_new_token(tmp_path):
    """One more row in the embedding and its tied head: one finding for model and state."""
    net = Tiny()
    torch.save({"model": net.state_dict(), "optimizer": trained(net).state_dict()}, tmp_path / "a.pt")
    grown = Tiny(12)
    finding = only(tmp_path / "a.pt", grown, groups(grown))
    assert finding.rule == "AG403"
    assert {"wte.weight", "lm_head.weight"} <= set(finding.subjects)
    optimizer = groups(grown)
    exec(finding.fix, {"torch": torch, "grown": grown, "optimizer": optimizer})
    assert torch.equal(grown.wte.weight[:11], net.wte.weight)
    grown(torch.arange(4)[None]).pow(2).mean().backward()
    optimizer.step()


@pytest.fixture
def gpt2():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=17, n_positions=8)
    return lambda: transformers.GPT2LMHeadModel(config)


def test_save_pretrained(tmp_path, gpt2):
    """A folder of transformers: one file or several shards, tied head left out."""
    net = gpt2()
    net.save_pretrained(tmp_path / "one")
    net.save_pretrained(tmp_path / "many", max_shard_size="2KB")
    assert list((tmp_path / "many").glob("*.index.json"))
    for folder in ("one", "many"):
        found = findings(tmp_path / folder, gpt2())
        assert [f.severity for f in found] == ["info"], found
        assert found[0].subjects == ("lm_head.weight",)


def test_save_pretrained_of_the_model_without_its_head(tmp_path, gpt2):
    """The inner model's names lack `transformer.`: told as a prefix."""
    net = gpt2()
    net.transformer.save_pretrained(tmp_path)
    found = findings(tmp_path, gpt2())
    assert "`transformer.`" in found[0].message
    assert len(found) <= 2


def test_a_transformers_resume(tmp_path, gpt2):
    """pytorch_model.bin and optimizer.pt beside it, as the Trainer writes them."""
    net = gpt2()
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.arange(6)[None], labels=torch.arange(6)[None]).loss.backward()
    optimizer.step()
    torch.save(net.state_dict(), tmp_path / "pytorch_model.bin")
    torch.save(optimizer.state_dict(), tmp_path / "optimizer.pt")
    again = gpt2()
    sound(tmp_path, again)
    sound(tmp_path / "optimizer.pt", again, torch.optim.AdamW(again.parameters()))


@pytest.fixture(scope="module")
def lightning_run(tmp_path_factory):
    """A .ckpt that Lightning wrote, and the class of its module."""
    lightning = pytest.importorskip("lightning")
    folder = tmp_path_factory.mktemp("lightning")

    class Lit(lightning.LightningModule):
        def __init__(self, width=6):
            super().__init__()
            self.save_hyperparameters()
            self.model = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))

        def training_step(self, batch, _):
            return self.model(batch[0]).pow(2).mean()

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 4)), batch_size=2)
    trainer = lightning.Trainer(
        max_epochs=1, logger=False, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
        default_root_dir=folder,
    )  # fmt: skip
    trainer.fit(Lit(), data)
    trainer.save_checkpoint(folder / "a.ckpt")
    return folder / "a.ckpt", Lit


@pytest.mark.filterwarnings("ignore")
def test_a_lightning_checkpoint(lightning_run):
    """state_dict and optimizer_states[0] are found; only the scheduled learning rate differs."""
    path, module = lightning_run
    checkpoint = inspect_checkpoint(path).capture.checkpoint
    assert [m.path for m in checkpoint.models] == [("state_dict",)]
    assert [o.path for o in checkpoint.optimizers] == [("optimizer_states", 0)]
    net = module()
    found = findings(path, net, torch.optim.AdamW(net.parameters(), lr=0.01))
    assert {f.severity for f in found} <= {"info"}


@pytest.mark.filterwarnings("ignore")
def test_the_network_inside_a_lightning_module(lightning_run):
    """Its names begin with `model.`: one finding, and the lines that load it."""
    path, module = lightning_run
    net = module().model
    finding = only(path, net)
    assert "`model.`" in finding.message
    exec(finding.fix, {"torch": torch, "net": net})


@pytest.mark.filterwarnings("ignore")
def test_a_wider_lightning_module(lightning_run):
    """Another hyper-parameter: shapes differ, with names."""
    path, module = lightning_run
    net = module(9)
    assert only(path, net).rule == "AG403"


def test_an_optimizer_in_a_wrapper():
    """LightningOptimizer and AcceleratedOptimizer are looked through."""
    accelerate = pytest.importorskip("accelerate")
    net = Tiny()
    state = {"model": net.state_dict(), "optimizer": trained(net).state_dict()}
    wrapped = accelerate.Accelerator(cpu=True).prepare(groups(net))
    sound(state, net, wrapped)


def test_schedule_free():
    """schedulefree keeps z and settings of its own: it fits itself."""
    schedulefree = pytest.importorskip("schedulefree")
    net = Tiny()

    def make(net):
        optimizer = schedulefree.AdamWScheduleFree(net.parameters())
        optimizer.train()
        return optimizer

    state = {"model": net.state_dict(), "optimizer": trained(net, make).state_dict()}
    assert {f.severity for f in findings(state, net, make(net))} <= {"info"}
