"""Parameters that are stepped twice, or share what they should not (AG407)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a parameter is listed twice": case(
        "AG407",
        """
embed = nn.Embedding(5, 4)
head = nn.Linear(4, 5, bias=False)
head.weight = embed.weight
optimizer = torch.optim.SGD([*embed.parameters(), *head.parameters()], lr=0.1)
head(embed(torch.tensor([1, 2]))).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Collect parameters from one parent module",
            "[*embed.parameters(), *head.parameters()]",
            "nn.ModuleList([embed, head]).parameters()",
        ),
        by(
            "list(dict.fromkeys(params))",
            "[*embed.parameters(), *head.parameters()]",
            "list(dict.fromkeys([*embed.parameters(), *head.parameters()]))",
        ),
        symptom="len(optimizer.param_groups[0]['params']) == 2",
    ),
    "two optimizers write to one state": case(
        "AG407",
        """
import copy
net, other = nn.Linear(4, 4), nn.Linear(4, 4)
first = torch.optim.Adam(net.parameters())
second = torch.optim.Adam(other.parameters())
net(torch.ones(3, 4)).pow(2).mean().backward()
first.step()
other.load_state_dict(net.state_dict())
second.load_state_dict(first.state_dict())
for each, optimizer in ((net, first), (other, second)):
    optimizer.zero_grad()
    each(torch.ones(3, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Load a copy: `copy.deepcopy(first.state_dict())`",
            "second.load_state_dict(first.state_dict())",
            "second.load_state_dict(copy.deepcopy(first.state_dict()))",
        ),
        symptom="first.state[net.weight]['exp_avg'] is second.state[other.weight]['exp_avg']",
    ),
    "a mask is the memory of the weight": case(
        "AG407",
        """
class Masked(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
        self.register_buffer("mask", self.weight.data)
        self.mask.fill_(1)

    def forward(self, x):
        return F.linear(x, self.weight * self.mask, self.bias)

net = Masked()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Give the buffer a copy: `self.register_buffer(name, self.weight.detach().clone())`",
            "self.weight.data",
            "self.weight.detach().clone()",
        ),
        symptom="not bool((net.mask == 1).all())",
    ),
    "a group is added of what the optimizer has": case(
        "AG407",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
optimizer.add_param_group({"params": net[1].parameters(), "lr": 0.01})
""",
        by(
            "set that group's lr (`optimizer.param_groups[i]['lr'] = ...`)",
            'optimizer.add_param_group({"params": net[1].parameters(), "lr": 0.01})',
            "optimizer.param_groups[0]['lr'] = 0.01",
        ),
        by(
            "leave them out when building the optimizer and add them here",
            "SGD(net.parameters()",
            "SGD(net[0].parameters()",
        ),
    ),
    "two groups have the same parameters": case(
        "AG407",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD([{"params": net.parameters()}, {"params": net[1].parameters(), "lr": 0.01}], lr=0.1)
""",
        by(
            'Leave them out of the general group: `own = set(map(id, net.get_submodule("1").parameters())); rest = [p for p in net.parameters() if id(p) not in own]`',
            "optimizer =",
            "own = set(map(id, net[1].parameters())); rest = [p for p in net.parameters() if id(p) not in own]\noptimizer =",
            '{"params": net.parameters()}',
            '{"params": rest}',
        ),
    ),
    "two optimizers step with one gradient": case(
        "AG407",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
one = torch.optim.SGD(net.parameters(), lr=0.1)
other = torch.optim.SGD(net[1].parameters(), lr=0.1)
net(torch.randn(3, 4)).mean().backward()
one.step()
other.step()
""",
        by(
            "Pass each parameter to one optimizer only",
            "one = torch.optim.SGD(net.parameters()",
            "one = torch.optim.SGD(net[0].parameters()",
        ),
        symptom="len(one.param_groups[0]['params']) == 4",
    ),
    "two parameters are on one memory": case(
        "AG407",
        """
embed = nn.Embedding(5, 4)
head = nn.Linear(4, 5, bias=False)
head.weight = nn.Parameter(embed.weight.data)
optimizer = torch.optim.Adam([*embed.parameters(), *head.parameters()], lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    head(embed(torch.tensor([1, 2]))).pow(2).mean().backward()
    optimizer.step()
""",
        by("copy the values: `.clone()`", "nn.Parameter(embed.weight.data)", "nn.Parameter(embed.weight.data.clone())"),
        by(
            "`copy_()` into other memory",
            "head.weight = nn.Parameter(embed.weight.data)",
            "with torch.no_grad():\n    head.weight.copy_(embed.weight)",
        ),
        by(
            "use one Parameter in both places, with its transpose or view in forward, and list it once in the optimizer",
            "nn.Parameter(embed.weight.data)",
            "embed.weight",
            "[*embed.parameters(), *head.parameters()]",
            "embed.parameters()",
        ),
        symptom="head.weight is not embed.weight and head.weight.data_ptr() == embed.weight.data_ptr()",
    ),
    "a list repeats one module": case(
        "AG407",
        """
layers = nn.ModuleList([nn.Linear(4, 4)] * 3)
optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)
x = torch.randn(3, 4)
for layer in layers:
    x = layer(x)
x.mean().backward()
optimizer.step()
""",
        by(
            "`nn.ModuleList([make() for _ in range(n)])`",
            "[nn.Linear(4, 4)] * 3",
            "[nn.Linear(4, 4) for _ in range(3)]",
        ),
        by("`copy.deepcopy(module)`", "[nn.Linear(4, 4)] * 3", "[copy.deepcopy(nn.Linear(4, 4)) for _ in range(3)]"),
        symptom="len(list(layers.parameters())) == 2",
    ),
    "an ensemble repeats one member": case(
        "AG407",
        """
class Voting(nn.Module):
    def __init__(self):
        super().__init__()
        self.voters = nn.ModuleList([nn.Linear(4, 2)] * 3)
    def forward(self, x):
        return torch.stack([voter(x) for voter in self.voters]).mean(0)
net = Voting()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Create a module for each entry, in a comprehension: `nn.ModuleList([make() for _ in range(n)])`",
            "[nn.Linear(4, 2)] * 3",
            "[nn.Linear(4, 2) for _ in range(3)]",
        ),
        by("`copy.deepcopy(module)`", "[nn.Linear(4, 2)] * 3", "[copy.deepcopy(nn.Linear(4, 2)) for _ in range(3)]"),
        symptom="len(list(net.parameters())) == 2",
    ),
    "a tie is undone": case(
        "AG407",
        """
class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.out = nn.Linear(4, 5, bias=False)
        self.out.weight = self.table.weight

    def forward(self, ids):
        return self.out(self.table(ids))

net = Language()
vectors = torch.randn(5, 4)
net.table = nn.Embedding.from_pretrained(vectors, freeze=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.tensor([1, 2])).pow(2).mean().backward()
optimizer.step()
""",
        by("Tie them again after `table` is replaced", "optimizer =", "net.out.weight = net.table.weight\noptimizer ="),
        by(
            "copy the new values into the old weight and keep the module",
            "net.table = nn.Embedding.from_pretrained(vectors, freeze=False)",
            "net.table.weight.data.copy_(vectors)",
        ),
        symptom="net.out.weight is not net.table.weight",
    ),
    "a cached tensor is the state of two parameters": case(
        "AG407",
        """
class Momentum(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
        self.zeros = {}

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if not state:
                made = self.zeros.setdefault(p.shape, torch.zeros_like(p))
                state["momentum"] = made
            state["momentum"].mul_(0.9).add_(p.grad)
            p.sub_(0.1 * state["momentum"])


net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
optimizer = Momentum(net.parameters())
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).square().mean().backward()
    optimizer.step()
one, other = (optimizer.state[layer.weight]["momentum"] for layer in net)
""",
        by(
            "Give each parameter its own tensor: `state[",
            '["momentum"] = made',
            '["momentum"] = torch.zeros_like(p)',
        ),
        by("a `.clone()` of one that was made before", '["momentum"] = made', '["momentum"] = made.clone()'),
        symptom="one is other",
    ),
    "each name gets a Parameter of its own": case(
        "AG407",
        """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight
    def forward(self, ids):
        return self.head(self.embed(ids))

net = Tied()
for name, value in net.state_dict().items():
    module = net.get_submodule(name.rpartition(".")[0])
    module.weight = nn.Parameter(value.clone())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.tensor([1, 2])).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Write the values into the parameter that is there, under torch.no_grad(), as in `p.copy_(value)`: this keeps the tie",
            "    module.weight = nn.Parameter(value.clone())\n",
            "    with torch.no_grad():\n        module.weight.copy_(value.clone())\n",
        ),
        by(
            "Or tie them again afterwards",
            "optimizer = torch.optim.SGD(net",
            "net.head.weight = net.embed.weight\noptimizer = torch.optim.SGD(net",
        ),
        symptom="not torch.equal(net.embed.weight, net.head.weight)",
    ),
}
