"""Names, gradients and operands that do not fit (AG412, AG414, AG415)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a default dtype that stays": case(
        "AG415",
        """
net = nn.Linear(4, 1)
try:
    torch.set_default_dtype(torch.float64)
    exact = torch.ones(3).sum()
    out = net(torch.ones(3, 4))
finally:
    torch.set_default_dtype(torch.float32)
""",
        by(
            "Create what needs float64 with `dtype=torch.float64` and leave the default dtype as it is",
            "    torch.set_default_dtype(torch.float64)\n",
            "",
            "torch.ones(3)",
            "torch.ones(3, dtype=torch.float64)",
        ),
        by(
            "set it back to float32 at once: it applies to the whole process.",
            "    out =",
            "    torch.set_default_dtype(torch.float32)\n    out =",
        ),
    ),
    "a checkpoint has a wrapper's names": case(
        "AG412",
        """
net = nn.Linear(4, 1)
given = {"module." + name: torch.zeros_like(value) for name, value in net.state_dict().items()}
net.load_state_dict(given, strict=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
""",
        by(
            '`{name.removeprefix("module."): value for name, value in given.items()}`',
            "net.load",
            'given = {name.removeprefix("module."): value for name, value in given.items()}\nnet.load',
        ),
        by(
            "Pass strict=True to load_state_dict: it then raises where names differ",
            "net.load",
            'given = {name.removeprefix("module."): value for name, value in given.items()}\nnet.load',
            "strict=False",
            "strict=True",
        ),
        symptom="bool(net.weight.any())",
    ),
    "a checkpoint has other names": case(
        "AG412",
        """
net = nn.Linear(4, 1)
given = {"kernel": torch.zeros(1, 4), "offset": torch.zeros(1)}
net.load_state_dict(given, strict=False)
""",
        by("Use the names in Linear.state_dict() for the tensors", '"kernel"', '"weight"', '"offset"', '"bias"'),
        by(
            "Pass strict=True to load_state_dict",
            '"kernel"',
            '"weight"',
            '"offset"',
            '"bias"',
            "strict=False",
            "strict=True",
        ),
        symptom="bool(net.weight.any())",
    ),
    "functional_call is given other names": case(
        "AG412",
        """
net = nn.Linear(4, 1)
given = {name.upper(): torch.zeros_like(value) for name, value in net.named_parameters()}
out = torch.func.functional_call(net, given, (torch.ones(3, 4),))
""",
        by("Use the names in Linear.named_parameters() for the tensors", "name.upper()", "name"),
        by(
            "Pass strict=True to functional_call",
            "name.upper()",
            "name",
            "(torch.ones(3, 4),))",
            "(torch.ones(3, 4),), strict=True)",
        ),
        symptom="bool(out.any())",
    ),
    "a checkpoint lacks a prefix": case(
        "AG412",
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(4, 1)
    def forward(self, x):
        return self.backbone(x)
net = Model()
given = {"weight": torch.zeros(1, 4), "bias": torch.zeros(1)}
net.load_state_dict(given, strict=False)
""",
        by(
            'Prepend "backbone." to the names',
            "net.load",
            'given = {"backbone." + name: value for name, value in given.items()}\nnet.load',
        ),
        by(
            "Pass strict=True to load_state_dict",
            "net.load",
            'given = {"backbone." + name: value for name, value in given.items()}\nnet.load',
            "strict=False",
            "strict=True",
        ),
        symptom="bool(net.backbone.weight.any())",
    ),
    "a part of a model was wrapped since": case(
        "AG412",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 1)))
given = {"0.weight": torch.zeros(4, 4), "0.bias": torch.zeros(4), "1.weight": torch.zeros(1, 4), "1.bias": torch.zeros(1)}
net.load_state_dict(given, strict=False)
""",
        by(
            '`{name if name in own else "1.0." + name.removeprefix("1."): value for name, value in given.items()}`, where `own` is dict(Sequential.state_dict())',
            "net.load",
            'own = dict(net.state_dict())\ngiven = {name if name in own else "1.0." + name.removeprefix("1."): value for name, value in given.items()}\nnet.load',
        ),
        by(
            "Pass strict=True to load_state_dict",
            "net.load",
            'own = dict(net.state_dict())\ngiven = {name if name in own else "1.0." + name.removeprefix("1."): value for name, value in given.items()}\nnet.load',
            "strict=False",
            "strict=True",
        ),
        symptom="bool(net[1][0].weight.any()) or bool(net[0].weight.any())",
    ),
    "Adam is given sparse gradients": case(
        "AG414",
        """
table, net = nn.Embedding(5, 4, sparse=True), nn.Linear(4, 1)
optimizer = torch.optim.Adam([*table.parameters(), *net.parameters()], lr=0.1)
net(table(torch.tensor([1, 2]))).mean().backward()
optimizer.step()
""",
        by("Build the embedding with sparse=False", "sparse=True", "sparse=False"),
        by(
            "to torch.optim.SparseAdam, and the other parameters to another optimizer",
            "[*table.parameters(), *net.parameters()]",
            "net.parameters()",
            "net(table",
            "sparse = torch.optim.SparseAdam(table.parameters(), lr=0.1)\nnet(table",
            "optimizer.step()",
            "optimizer.step()\nsparse.step()",
        ),
    ),
    "SGD with weight decay is given sparse gradients": case(
        "AG414",
        """
table = nn.Embedding(5, 4, sparse=True)
optimizer = torch.optim.SGD(table.parameters(), lr=0.1, weight_decay=0.1)
table(torch.tensor([1, 2])).pow(2).mean().backward()
optimizer.step()
""",
        by("Build the embedding with sparse=False", "sparse=True", "sparse=False"),
        by("to SGD without weight_decay", ", weight_decay=0.1", ""),
        by(
            "to torch.optim.SparseAdam",
            "torch.optim.SGD(table.parameters(), lr=0.1, weight_decay=0.1)",
            "torch.optim.SparseAdam(table.parameters(), lr=0.1)",
        ),
    ),
    "SparseAdam is given dense gradients": case(
        "AG414",
        """
table, net = nn.Embedding(5, 4, sparse=True), nn.Linear(4, 1)
optimizer = torch.optim.SparseAdam([*table.parameters(), *net.parameters()], lr=0.1)
net(table(torch.tensor([1, 2]))).mean().backward()
optimizer.step()
""",
        by(
            "Pass only the parameters with sparse gradients to SparseAdam, and the others to another optimizer",
            "[*table.parameters(), *net.parameters()]",
            "table.parameters()",
            "net(table",
            "dense = torch.optim.Adam(net.parameters(), lr=0.1)\nnet(table",
            "optimizer.step()",
            "optimizer.step()\ndense.step()",
        ),
    ),
    "a checkpoint of another dtype is assigned": case(
        "AG415",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
weights = nn.Linear(4, 4).double().state_dict()
net[0].load_state_dict(weights, assign=True)
out = net(torch.randn(3, 4))
""",
        by("Load without assign=True", ", assign=True", ""),
        by("convert the whole model after loading", "out =", "net.float()\nout ="),
    ),
    "a part of a model is converted": case(
        "AG415",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
net[1].double()
x = torch.randn(3, 4)
out = net(x)
""",
        by(
            "Convert the whole model and its inputs to one dtype",
            "net[1].double()",
            "net.double()",
            "torch.randn(3, 4)",
            "torch.randn(3, 4).double()",
        ),
    ),
    "data are of another dtype": case(
        "AG415",
        """
net = nn.Linear(4, 1)
x = torch.from_numpy(np.ones((3, 4)))
out = net(x)
""",
        by("Convert x to the dtype of the parameters before calling the model", "out = net(x)", "out = net(x.float())"),
        by("convert the model", "out =", "net.double()\nout ="),
    ),
    "a layer has no memory": case(
        "AG415",
        """
net = nn.Linear(4, 1, device="meta")
weights = nn.Linear(4, 1).state_dict()
x = torch.randn(3, 4)
out = net(x)
""",
        by("call `to_empty(device=...)` on its module", "out =", 'net.to_empty(device="cpu")\nout ='),
        by("load with assign=True", "out =", "net.load_state_dict(weights, assign=True)\nout ="),
    ),
}
