"""Writes the graphs that the layout is tested on: real captures of small random models, as small JSON.

Run from the repository's root: ``python scripts/layout_fixtures.py``. Fields at their default are
left out (tests/layout/graphs.ts puts them back), so that a graph of 1,000 nodes stays near 200 kB.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import autograd_inspector
from autograd_inspector.api.report import Report

TARGET = Path(__file__).parent.parent / "labextension" / "tests" / "layout" / "captured"
Step = Callable[[], object]


def graph_of(report: Report) -> dict[str, object]:
    """The picture's data, in the names of src/model/graph.ts."""
    capture = report.capture
    found: dict[int, list[int]] = {}
    for number, finding in enumerate(report.findings):
        for op in finding.ops:
            if op in report.graph.by_op:
                found.setdefault(report.graph.by_op[op], []).append(number)
    nodes = []
    for node in report.graph.nodes:
        record = capture.tensors[node.tensor] if node.tensor >= 0 else None
        region = capture.regions[capture.ops[node.op].region].kind if node.op >= 0 and capture.regions else ""
        name = node.name
        if node.leaf and record is not None:
            name = record.names[0] if record.names else record.variable
        fields: dict[str, object] = {
            "id": node.id,
            "kind": node.kind,
            "name": name,
            "path": node.path,
            "call": node.call,
            "op": node.op,
            "tensor": node.tensor,
            "gradFns": list(node.grad_fns),
            "modified": [{"name": s.name, "saved": s.saved_version, "now": s.current_version} for s in node.modified],
            "hooks": node.hooks,
            "tracked": node.tracked,
            "root": node.root,
            "failed": node.failed,
            "recomputed": node.recomputed,
            "error": node.error[:60],
            "shape": "×".join(map(str, record.shape)) if record is not None else "",
            "dtype": record.dtype if record is not None else "",
            "device": record.device if record is not None else "",
            "findings": found.get(node.id, []),
            "region": "" if region == "enabled" else region,
        }
        needed, pointers = {"id", "kind"}, {"call", "op", "tensor"}
        nodes.append({k: v for k, v in fields.items() if k in needed or v != (-1 if k in pointers else type(v)())})
    edges = [[e.source, e.target, e.kind[0], e.cause, int(e.live)] for e in report.graph.edges]
    calls = [[c.id, c.parent, c.path, c.type, c.nth, c.root] for c in capture.calls]
    findings = [{"rule": f.rule, "name": f.name, "severity": f.severity} for f in report.findings]
    return {"nodes": nodes, "edges": edges, "calls": calls, "findings": findings, "models": list(capture.models)}


def gpt2() -> Step:
    """Twelve equal blocks, one tied weight."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=12, n_head=2, n_embd=16, vocab_size=50, n_positions=32))
    ids = torch.randint(0, 50, (2, 8))

    def step() -> None:
        model(input_ids=ids, labels=ids).loss.backward()

    return step


def t5() -> Step:
    """Encoder and decoder, and values that go from one far into the other."""
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"num_layers": 4, "num_heads": 2, "d_model": 16, "d_kv": 8, "d_ff": 32, "vocab_size": 50}
    model = T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0))
    ids = torch.randint(0, 50, (2, 8))

    def step() -> None:
        model(input_ids=ids, labels=ids).loss.backward()

    return step


def resnet() -> Step:
    """ResNet-50's shape: stages of 3, 4, 6 and 3 bottlenecks."""
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 16], depths=[3, 4, 6, 3], layer_type="bottleneck")
    model = ResNetForImageClassification(config)

    def step() -> None:
        model(pixel_values=torch.randn(2, 3, 32, 32), labels=torch.tensor([0, 1])).loss.backward()

    return step


class Tagger(nn.Module):
    """An LSTM, and a cell that is called once a time step."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.encoder = nn.LSTM(8, 8, num_layers=2, batch_first=True)
        self.cell = nn.LSTMCell(8, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits."""
        encoded, _ = self.encoder(self.embedding(ids))
        h = c = encoded.new_zeros(ids.shape[0], 8)
        logits = []
        for t in range(ids.shape[1]):
            h, c = self.cell(encoded[:, t], (h, c))
            logits.append(self.head(h))
        return torch.stack(logits, 1)


def lstm() -> Step:
    """Two training steps, the model built within the capture."""

    def step() -> None:
        model = Tagger()
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            ids = torch.randint(0, 20, (2, 12))
            loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), torch.randint(0, 5, (24,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return step


def chain() -> Step:
    """A residual chain without modules: 160 ops in a row, skips, and one value that is read far below."""

    def step() -> None:
        weights = [torch.randn(8, 8, requires_grad=True) for _ in range(40)]
        x = first = torch.randn(4, 8)
        for n, weight in enumerate(weights):
            x = x + torch.relu(x @ weight)
            if n in (7, 23, 39):
                x = x * first.mean()
        (x + first).sum().backward()

    return step


class Cut(nn.Module):
    """Gradient is cut on purpose, by mistake, and by an op that has none."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
        self.teacher = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(logits, distance to the teacher)."""
        hidden = self.encoder(x)
        with torch.no_grad():
            target = torch.softmax(self.teacher(hidden), -1) * 2
        distance = ((hidden - target) ** 2).mean()
        return self.decoder(hidden.detach()), distance


def severed() -> Step:
    """The encoder is in the optimizer and learns nothing."""
    model = Cut()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> None:
        logits, distance = model(torch.randn(4, 8))
        loss = nn.functional.cross_entropy(logits, logits.argmax(-1)) * distance.item()
        loss.backward()
        optimizer.step()

    return step


def version() -> Step:
    """A saved tensor is modified twice in place; backward raises."""
    layer = nn.Linear(8, 8)

    def step() -> None:
        hidden = torch.sigmoid(layer(torch.randn(4, 8)))
        hidden.register_hook(lambda grad: grad)
        loss = (hidden**2).sum()
        hidden += 1
        hidden.mul_(2)
        loss.backward()

    return step


class Block(nn.Module):
    """A residual block."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        """Of the same shape."""
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Checkpointed(nn.Module):
    """Blocks that keep only what they are called with."""

    def __init__(self, blocks: int, *, reentrant: bool) -> None:
        super().__init__()
        self.embedding = nn.Linear(8, 8)
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.head = nn.Linear(8, 1)
        self.reentrant = reentrant

    def forward(self, x: Tensor) -> Tensor:
        """One number a row."""
        x = self.embedding(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return self.head(x)


def checkpointed(*, reentrant: bool = False) -> Step:
    """Backward computes six blocks again."""
    model = Checkpointed(6, reentrant=reentrant)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> None:
        model(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()

    return step


def reentrant() -> Step:
    """The same, each block recorded only in backward."""
    return checkpointed(reentrant=True)


STORIES: tuple[Callable[[], Step], ...] = (
    *(gpt2, t5, resnet, lstm, chain, severed, version),
    *(checkpointed, reentrant),
)


def main() -> None:
    """Capture each story, and write its graph."""
    for story in STORIES:
        torch.manual_seed(0)
        step = story()
        with autograd_inspector.inspect() as inspection, suppress(RuntimeError):
            step()
        text = json.dumps(graph_of(inspection.report), ensure_ascii=False, separators=(",", ":"))
        (TARGET / f"{story.__name__}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
