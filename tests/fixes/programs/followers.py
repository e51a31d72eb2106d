"""Target networks and averages that are updated in part, or in vain (AG416)."""

from __future__ import annotations

from tests.fixes.cases import by, case

FOLLOW = """
def follow(targets, sources):
    with torch.no_grad():
        for t, p in zip(targets, sources):
            t.lerp_(p, 0.5)
"""

CASES = {
    "two parameters share an average": case(
        "AG416",
        """
net = nn.ModuleDict({
    "a": nn.ModuleDict({"bc": nn.Linear(4, 4)}), "ab": nn.ModuleDict({"c": nn.Linear(4, 4)}), "out": nn.Linear(4, 1),
})
optimizer, x = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(8, 4)
averages = {}
for name, p in net.named_parameters():
    averages[name.replace(".", "")] = p.detach().clone()
for _ in range(2):
    optimizer.zero_grad()
    net["out"](net["ab"]["c"](net["a"]["bc"](x)).tanh()).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        for name, p in net.named_parameters():
            averages[name.replace(".", "")].lerp_(p, 0.1)
with torch.no_grad():
    for name, p in net.named_parameters():
        p.copy_(averages[name.replace(".", "")])
""",
        by(
            "Keep an average for each parameter, under a key that no other parameter has: its full name",
            'averages[name.replace(".", "")] = ',
            "averages[name] = ",
            'averages[name.replace(".", "")].lerp_',
            "averages[name].lerp_",
            'p.copy_(averages[name.replace(".", "")])',
            "p.copy_(averages[name])",
        ),
        by(
            "or `name.replace('.', '_')` for a buffer",
            'averages[name.replace(".", "")] = ',
            "averages[name.replace('.', '_')] = ",
            'averages[name.replace(".", "")].lerp_',
            "averages[name.replace('.', '_')].lerp_",
            'p.copy_(averages[name.replace(".", "")])',
            "p.copy_(averages[name.replace('.', '_')])",
        ),
        symptom="torch.equal(net['a']['bc'].weight, net['ab']['c'].weight)",
    ),
    "averages are updated once for each module around them": case(
        "AG416",
        """
import copy
net = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 4))
average = copy.deepcopy(net).requires_grad_(False)
optimizer, x = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(8, 4)
moved = 0
for _ in range(2):
    optimizer.zero_grad()
    (net(x) - average(x) + 1).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        for module, twin in zip(net.modules(), average.modules()):
            for t, p in zip(twin.parameters(), module.parameters()):
                t.lerp_(p, 0.5)
                moved += 1
""",
        by(
            "loop over the parameters of the whole model",
            "        for module, twin in zip(net.modules(), average.modules()):\n            for t, p in zip(twin.parameters(), module.parameters()):",
            "        for _ in range(1):\n            for t, p in zip(average.parameters(), net.parameters()):",
        ),
        by(
            "or ask each module for its own parameters only",
            "zip(twin.parameters(), module.parameters())",
            "zip(twin.parameters(recurse=False), module.parameters(recurse=False))",
        ),
        symptom="moved > 8",
    ),
    "a target follows the layer before its own": case(
        "AG416",
        """
import copy
net = nn.ModuleDict({"head": nn.Linear(4, 4), "body": nn.Linear(4, 4)})
target = copy.deepcopy(net["body"]).requires_grad_(False)
optimizer, x = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(8, 4)
for _ in range(2):
    optimizer.zero_grad()
    (net["head"](net["body"](x)) - target(x)).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        for t, p in zip(target.parameters(), net.parameters()):
            t.lerp_(p, 1.0)
""",
        by(
            "give `zip()` the parameters of the module that was copied, in their order",
            "net.parameters()):\n            t",
            "net['body'].parameters()):\n            t",
        ),
        by(
            "or look each of them up by its name",
            "for t, p in zip(target.parameters(), net.parameters()):\n            t.lerp_(p, 1.0)",
            "for name, t in target.named_parameters():\n            t.lerp_(net['body'].get_parameter(name), 1.0)",
        ),
        symptom="torch.equal(target.weight, net['head'].weight)",
    ),
    "a target follows in part": case(
        "AG416",
        FOLLOW
        + """
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
target = copy.deepcopy(net).requires_grad_(False)
start = target[0].weight.clone()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.linspace(-1, 1, 32).reshape(8, 4)
for _ in range(3):
    optimizer.zero_grad()
    (net(x) - target(x) - 1).pow(2).mean().backward()
    optimizer.step()
    follow(target[2].parameters(), net[2].parameters())
""",
        by(
            "Update all parameters of the copy",
            "follow(target[2].parameters(), net[2].parameters())",
            "follow(target.parameters(), net.parameters())",
        ),
        symptom="torch.equal(target[0].weight, start)",
    ),
    "an average is older than a load": case(
        "AG416",
        FOLLOW
        + """
net, pretrained = nn.Linear(4, 1), {"weight": torch.full((1, 4), 3.0), "bias": torch.zeros(1)}
average = copy.deepcopy(net).requires_grad_(False)
net.load_state_dict(pretrained)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    follow(average.parameters(), net.parameters())
""",
        by(
            "Make the copies after Linear.load_state_dict()",
            "average = copy.deepcopy(net).requires_grad_(False)\nnet.load_state_dict(pretrained)",
            "net.load_state_dict(pretrained)\naverage = copy.deepcopy(net).requires_grad_(False)",
        ),
        by(
            "`for c, p in zip(copies, model.parameters()): c.data.copy_(p)`",
            "net.load_state_dict(pretrained)\n",
            "net.load_state_dict(pretrained)\nfor c, p in zip(average.parameters(), net.parameters()): c.data.copy_(p)\n",
        ),
        symptom="not torch.allclose(average.weight, net.weight, atol=0.1)",
    ),
    "an average has old statistics": case(
        "AG416",
        FOLLOW
        + """
net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
average = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.linspace(-1, 1, 32).reshape(8, 4)
for _ in range(3):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
    follow(average.parameters(), net.parameters())
average.eval()
with torch.no_grad():
    average(x)
""",
        by(
            "Copy the buffers as well",
            "average.eval()",
            "for t, p in zip(average.buffers(), net.buffers()): t.copy_(p)\naverage.eval()",
        ),
        by(
            "call torch.optim.swa_utils.update_bn(loader, average) before the evaluation",
            "average.eval()",
            "torch.optim.swa_utils.update_bn([x], average)\naverage.eval()",
        ),
        symptom="not average[1].running_mean.any()",
    ),
    "the statistics of the wrong model are computed": case(
        "AG416",
        """
net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
average = torch.optim.swa_utils.AveragedModel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.linspace(-1, 1, 32).reshape(8, 4)
for _ in range(3):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
    average.update_parameters(net)
torch.optim.swa_utils.update_bn([x], net)
average.eval()
with torch.no_grad():
    average(x)
    mean = average.module[0](x).mean(0)
""",
        by(
            "torch.optim.swa_utils.update_bn(loader, average)",
            "torch.optim.swa_utils.update_bn([x], net)",
            "torch.optim.swa_utils.update_bn([x], average)",
        ),
        symptom="not torch.allclose(average.module[1].running_mean, mean, atol=1e-5)",
    ),
    "a load leaves out a plain tensor": case(
        "AG416",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.zeros(4)
        self.out = nn.Linear(4, 1)
    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean += 0.5 * (x.mean(0) - self.mean)
        return self.out(x - self.mean)
net, restored = Net(), Net()
optimizer, x = torch.optim.SGD(net.parameters(), lr=0.1), torch.linspace(1, 2, 32).reshape(8, 4)
for _ in range(3):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
restored.load_state_dict(net.state_dict())
restored.eval()
with torch.no_grad():
    restored(x)
""",
        by(
            "Register it as a buffer, which state_dict() has: `self.register_buffer('mean', ...)`",
            "self.mean = torch.zeros(4)",
            "self.register_buffer('mean', torch.zeros(4))",
        ),
        symptom="not torch.equal(net.mean, restored.mean)",
    ),
    "a target that nothing calls": case(
        "AG416",
        FOLLOW
        + """
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.value = nn.Linear(4, 1), nn.Linear(4, 1), nn.Linear(4, 1)
        self.old_one, self.old_two = copy.deepcopy(self.one), copy.deepcopy(self.two)
agent = Agent()
agent.old_one.requires_grad_(False)
agent.old_two.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in agent.parameters() if p.requires_grad], lr=0.1)
x = torch.linspace(-1, 1, 32).reshape(8, 4)
pairs = [(agent.old_one, agent.one), (agent.old_two, agent.two)]
def loss():
    own = (agent.one(x) - 1).pow(2).mean() + (agent.two(x) - 1).pow(2).mean()
    first = agent.old_one(x)
    second = agent.two(x)
    return own + (torch.minimum(first, second) - agent.value(x)).pow(2).mean()
for _ in range(3):
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()
    for target, source in pairs:
        follow(target.parameters(), source.parameters())
kept = len(pairs) > 1 and "old_two" not in loss.__code__.co_names
""",
        by("Call old_two there instead of two", "    second = agent.two(x)", "    second = agent.old_two(x)"),
        by("do not keep old_two", ", (agent.old_two, agent.two)]", "]"),
        symptom="kept",
    ),
}
