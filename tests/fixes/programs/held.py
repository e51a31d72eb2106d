"""What an optimizer holds, and what it does not (AG404, AG405)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a copy is trained with the optimizer of the model": case(
        "AG404",
        """
import copy
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
probe = copy.deepcopy(net)
own = optimizer
for _ in range(3):
    own.zero_grad()
    probe(torch.ones(3, 4)).mean().backward()
    own.step()
optimizer.zero_grad()
net(torch.ones(3, 4)).mean().backward()
start = net.weight.detach().clone()
optimizer.step()
""",
        by(
            "Build an optimizer for the copied model, and call its step()",
            "own = optimizer",
            "own = torch.optim.SGD(probe.parameters(), lr=0.1)",
        ),
        symptom="torch.equal(start, probe.weight)",
    ),
    "a layer is made after the optimizer": case(
        "AG404",
        """
net = nn.Sequential(nn.Linear(4, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.append(nn.Linear(4, 1))
start = net[1].weight.detach().clone()
net(torch.randn(3, 4)).mean().backward()
optimizer.step()
""",
        by(
            "Build the optimizer from the parameters of the trained model once it has all its layers",
            "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n",
            "",
            "start =",
            "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nstart =",
        ),
        by(
            "call add_param_group for the new parameters: `optimizer.add_param_group(",
            "start =",
            'optimizer.add_param_group({"params": net.get_submodule("1").parameters()})\nstart =',
        ),
        by(
            "Freeze parameters that must not change with requires_grad_(False)",
            "nn.Linear(4, 1)",
            "nn.Linear(4, 1).requires_grad_(False)",
        ),
        symptom="net[1].weight.requires_grad and torch.equal(start, net[1].weight)",
    ),
    "a group holds another parameter than the model": case(
        "AG404",
        """
class Cloud(nn.Module):
    def __init__(self):
        super().__init__()
        self.opacity = nn.Parameter(torch.rand(3))

    def forward(self, x):
        return (x * self.opacity).sum()

cloud = Cloud()
optimizer = torch.optim.SGD(cloud.parameters(), lr=0.1)
for round in range(4):
    optimizer.zero_grad()
    cloud(torch.rand(3)).backward()
    optimizer.step()
    if round == 1:
        new = nn.Parameter(torch.zeros(3))
        optimizer.param_groups[0]["params"][0] = new
        cloud.opacity.data = new.data.clone()
""",
        by(
            "Give the model the parameter that the group holds: `model.weight = new_parameter`",
            "cloud.opacity.data = new.data.clone()",
            "cloud.opacity = new",
        ),
        symptom="bool((cloud.opacity == 0).all())",
    ),
    "an optimizer holds another model": case(
        "AG404",
        """
net, other = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
start = net.weight.detach().clone()
net(torch.randn(3, 4)).mean().backward()
optimizer.step()
""",
        by(
            "Build this optimizer from the parameters that its loss trains, instead of the parameters it holds",
            "SGD(other",
            "SGD(net",
        ),
        symptom="torch.equal(start, net.weight)",
    ),
    "a generator of parameters was used up for the optimizer's group": case(
        "AG404",
        """
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
params = net.parameters()
count = sum(p.numel() for p in params)
optimizer = torch.optim.SGD([{"params": params}, {"params": head.parameters()}], lr=0.1)
start = net.weight.detach().clone()
head(net(torch.randn(3, 4))).mean().backward()
optimizer.step()
""",
        by("keep a list", "params = net.parameters()", "params = list(net.parameters())"),
        by("call it again", '{"params": params}', '{"params": net.parameters()}'),
        by(
            "call add_param_group for the new parameters",
            "start =",
            'optimizer.add_param_group({"params": net.parameters()})\nstart =',
        ),
        by(
            "once it has all its layers",
            '[{"params": params}, {"params": head.parameters()}]',
            "[*net.parameters(), *head.parameters()]",
        ),
        by(
            "Freeze parameters that must not change with requires_grad_(False)",
            "start =",
            "net.requires_grad_(False)\nstart =",
        ),
        symptom="net.weight.requires_grad and torch.equal(start, net.weight)",
    ),
    "an optimizer is given a used up generator": case(
        "AG404",
        """
net = nn.Linear(4, 1)
params = net.parameters()
count = sum(p.numel() for p in params)
optimizer = torch.optim.SGD(params, lr=0.1)
net(torch.randn(3, 4)).mean().backward()
optimizer.step()
""",
        by("call it again for the optimizer", "SGD(params", "SGD(net.parameters()"),
        by("keep list(net.parameters())", "params = net.parameters()", "params = list(net.parameters())"),
    ),
    "an optimizer is given what requires grad, and nothing does": case(
        "AG404",
        """
net = nn.Linear(4, 1)
net.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
net(torch.randn(3, 4)).mean().backward()
optimizer.step()
""",
        by(
            "Unfreeze the parameters to train (requires_grad_(True)) before the optimizer is built",
            "optimizer =",
            "net.requires_grad_(True)\noptimizer =",
        ),
    ),
    "a layer is replaced after the optimizer was made": case(
        "AG405",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
new = nn.Linear(4, 1)
net[1] = new
start = net[1].weight.detach().clone()
net(torch.randn(3, 4)).mean().backward()
optimizer.step()
""",
        by(
            "Build the optimizer after the model is final: `optimizer = torch.optim.SGD(net.parameters(), lr=0.1)`",
            "start =",
            "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nstart =",
        ),
        by("load_state_dict without assign=True", "net[1] = new", "net[1].load_state_dict(new.state_dict())"),
        by(
            "copy_ under torch.no_grad()) instead of replacing them",
            "net[1] = new",
            "with torch.no_grad():\n    net[1].weight.copy_(new.weight)\n    net[1].bias.copy_(new.bias)",
        ),
        symptom="torch.equal(start, net[1].weight)",
    ),
    "a learned tensor is replaced after the optimizer was made": case(
        "AG405",
        """
w = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    (w * 2).sum().backward()
    optimizer.step()
    w = torch.zeros(4, requires_grad=True)
optimizer.zero_grad()
(w * 2).sum().backward()
optimizer.step()
""",
        by(
            "Build the optimizer after the replacement",
            "    w = torch.zeros(4, requires_grad=True)",
            "    w = torch.zeros(4, requires_grad=True)\n    optimizer = torch.optim.SGD([w], lr=0.1)",
        ),
        by(
            "`w.data = ...`",
            "    w = torch.zeros(4, requires_grad=True)",
            "    w.data = torch.zeros(4)",
        ),
        by(
            "copy_ under torch.no_grad()",
            "    w = torch.zeros(4, requires_grad=True)",
            "    with torch.no_grad():\n        w.copy_(torch.zeros(4))",
        ),
        symptom="bool((w == 0).all())",
    ),
    "a layer is taken out and the optimizer keeps it": case(
        "AG405",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
for i in range(3):
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
    if i == 0:
        net[2] = nn.Identity()
held = len(optimizer.param_groups[0]["params"])
""",
        by(
            "Rebuild the optimizer once the model has changed: `optimizer = torch.optim.SGD(net.parameters(), lr=0.1)`",
            "net[2] = nn.Identity()",
            "net[2] = nn.Identity()\n        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)",
        ),
        by(
            "change the model after training",
            "    if i == 0:\n        net[2] = nn.Identity()\nheld",
            "held",
            '["params"])\n',
            '["params"])\nnet[2] = nn.Identity()\n',
        ),
        symptom="held == 6 and optimizer.param_groups[0]['params'][4].grad is None",
    ),
    "parametrizations are removed under no_grad": case(
        "AG405",
        """
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations
net = nn.Sequential(weight_norm(nn.Linear(4, 4)), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
for i in range(3):
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
    if i == 0:
        with torch.no_grad():
            remove_parametrizations(net[0], "weight")
trained = is_parametrized(net[0]) or net[0].weight.requires_grad
""",
        by(
            "Change the model after training",
            """    if i == 0:
        with torch.no_grad():
            remove_parametrizations(net[0], "weight")
""",
            "",
        ),
        by(
            "change it with grad mode on, where its tensors remain parameters, and rebuild the optimizer afterwards",
            """        with torch.no_grad():
            remove_parametrizations(net[0], "weight")
""",
            """        remove_parametrizations(net[0], "weight")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
""",
        ),
        symptom="not trained",
    ),
    "state of a removed group stays": case(
        "AG405",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
net(x).mean().backward()
optimizer.step()
net[1] = nn.Linear(4, 1)
optimizer.param_groups[0]["params"] = list(net.parameters())
optimizer.zero_grad()
net(x).mean().backward()
optimizer.step()
""",
        by(
            "Rebuild the optimizer",
            'optimizer.param_groups[0]["params"] = list(net.parameters())',
            "optimizer = torch.optim.Adam(net.parameters(), lr=0.1)",
        ),
        by(
            '`for p in set(optimizer.state) - {p for g in optimizer.param_groups for p in g["params"]}: optimizer.state.pop(p)`',
            "optimizer.zero_grad()",
            'for p in set(optimizer.state) - {p for g in optimizer.param_groups for p in g["params"]}: optimizer.state.pop(p)\noptimizer.zero_grad()',
        ),
        symptom="len(optimizer.state) > 4",
    ),
}
