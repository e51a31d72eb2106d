"""Parameters that no module knows (AG107)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a module is copied when it is called": case(
        "AG107",
        """
import copy
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
    def forward(self, x):
        return copy.deepcopy(self.head)(self.first(x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
before = net.head.weight.detach().clone()
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by("Compute with net.head.weight, net.head.bias themselves", "copy.deepcopy(self.head)", "self.head"),
        symptom="torch.equal(net.head.weight, before)",
    ),
    "layers are held in a list": case(
        "AG107",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.layers = [nn.Linear(4, 4)]
    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return x
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
before = net.layers[0].weight.detach().clone()
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by("nn.ModuleList instead of a Python list", "[nn.Linear(4, 4)]", "nn.ModuleList([nn.Linear(4, 4)])"),
        by(
            "nn.Parameter as an attribute",
            "self.layers = [nn.Linear(4, 4)]",
            "self.weight = nn.Parameter(torch.randn(4, 4))",
            "        for layer in self.layers:\n            x = layer(x)\n",
            "        x = x @ self.weight\n",
            "net.layers[0].weight",
            "net.weight",
        ),
        symptom="torch.equal(before, net.layers[0].weight if hasattr(net, 'layers') else net.weight)",
    ),
    "weights are held in a list": case(
        "AG107",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.gains = [nn.Parameter(torch.ones(4))]
    def forward(self, x):
        return self.first(x) * self.gains[0]
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "nn.ParameterList / nn.ModuleList instead of a Python list",
            "[nn.Parameter(torch.ones(4))]",
            "nn.ParameterList([nn.Parameter(torch.ones(4))])",
        ),
        by(
            "nn.Parameter as an attribute",
            "self.gains = [nn.Parameter(torch.ones(4))]",
            "self.gain = nn.Parameter(torch.ones(4))",
            "self.gains[0]",
            "self.gain",
        ),
        symptom="hasattr(net, 'gains') and bool((net.gains[0] == 1).all())",
    ),
    "a layer is made in forward": case(
        "AG107",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
    def forward(self, x):
        scale = nn.Parameter(torch.ones(4))
        return self.first(x) * scale
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "once, not in forward",
            "        scale = nn.Parameter(torch.ones(4))\n",
            "",
            "* scale",
            "* self.scale",
            "self.first = nn.Linear(4, 4)\n",
            "self.first = nn.Linear(4, 4)\n        self.scale = nn.Parameter(torch.ones(4))\n",
        ),
        symptom="len(list(net.parameters())) == 2",
    ),
    "a bare tensor is used beside forward": case(
        "AG107",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.scale = torch.ones(4, requires_grad=True)
    def forward(self, x):
        return self.first(x)
    def penalty(self):
        return self.scale.pow(2).sum()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = net(torch.randn(3, 4)).pow(2).mean() + net.penalty()
    loss.backward()
    optimizer.step()
""",
        by("`self.scale = nn.Parameter(...)`", "torch.ones(4, requires_grad=True)", "nn.Parameter(torch.ones(4))"),
        by("make it without requires_grad", ", requires_grad=True", ""),
        symptom="net.scale.requires_grad and bool((net.scale == 1).all())",
    ),
    "a module has no parameters at all": case(
        "AG107",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4)]
        self.scale = torch.ones(4, requires_grad=True)
    def forward(self, x):
        return self.layers[0](x) * self.scale
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Hold layers in nn.ModuleList and weights as nn.Parameter attributes",
            "[nn.Linear(4, 4)]",
            "nn.ModuleList([nn.Linear(4, 4)])",
            "torch.ones(4, requires_grad=True)",
            "nn.Parameter(torch.ones(4))",
        ),
    ),
    "a weight is a buffer": case(
        "AG107",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 1)
        self.register_buffer("scale", torch.ones(1, requires_grad=True))
    def forward(self, x):
        return self.first(x) * self.scale
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
before = net.scale.detach().clone()
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Register it in __init__ as a parameter",
            'self.register_buffer("scale", torch.ones(1, requires_grad=True))',
            "self.scale = nn.Parameter(torch.ones(1))",
        ),
        by("without requires_grad, where a buffer is meant to be constant", ", requires_grad=True", ""),
        symptom="net.scale.requires_grad and torch.equal(before, net.scale)",
    ),
}
