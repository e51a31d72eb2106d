"""What optimizers hold, and how they are used (AG404 to AG408, AG410 to AG415)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
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
        by("Build the optimizer from the parameters of the model that is trained, after it has all its layers", "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n", "", "start =", "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nstart ="),
        by("call add_param_group for the new ones: `optimizer.add_param_group(", "start =", 'optimizer.add_param_group({"params": net.get_submodule("1").parameters()})\nstart ='),
        by("freeze what stays fixed with requires_grad_(False)", "nn.Linear(4, 1)", "nn.Linear(4, 1).requires_grad_(False)"),
        symptom="net[1].weight.requires_grad and torch.equal(start, net[1].weight)",
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
        by("Give this optimizer the parameters that its loss trains, in place of those it holds", "SGD(other", "SGD(net"),
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
        by("call add_param_group for the new ones", "start =", 'optimizer.add_param_group({"params": net.parameters()})\nstart ='),
        by("after it has all its layers", '[{"params": params}, {"params": head.parameters()}]', "[*net.parameters(), *head.parameters()]"),
        by("freeze what stays fixed with requires_grad_(False)", "start =", "net.requires_grad_(False)\nstart ="),
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
        by("Unfreeze the parameters to train (requires_grad_(True)) before the optimizer is built", "optimizer =", "net.requires_grad_(True)\noptimizer ="),
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
        by("Build the optimizer after the model is final: `optimizer = torch.optim.SGD(net.parameters(), lr=0.1)`", "start =", "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nstart ="),
        by("load_state_dict without assign=True", "net[1] = new", "net[1].load_state_dict(new.state_dict())"),
        by("copy_ under torch.no_grad()) instead of replacing them", "net[1] = new", "with torch.no_grad():\n    net[1].weight.copy_(new.weight)\n    net[1].bias.copy_(new.bias)"),
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
(w * 2).sum().backward()
optimizer.step()
""",
        by("Build the optimizer after that", "    w = torch.zeros(4, requires_grad=True)", "    w = torch.zeros(4, requires_grad=True)\n    optimizer = torch.optim.SGD([w], lr=0.1)"),
        by("`w.data = ...`", "    w = torch.zeros(4, requires_grad=True)", "    w.data = torch.zeros(4)\n    optimizer.zero_grad()"),
        by("copy_ under torch.no_grad()", "    w = torch.zeros(4, requires_grad=True)", "    with torch.no_grad():\n        w.copy_(torch.zeros(4))\n    optimizer.zero_grad()"),
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
        by("Rebuild the optimizer once the model has changed: `optimizer = torch.optim.SGD(net.parameters(), lr=0.1)`", "net[2] = nn.Identity()", "net[2] = nn.Identity()\n        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)"),
        by("change it after training", "    if i == 0:\n        net[2] = nn.Identity()\nheld", "held", '["params"])\n', '["params"])\nnet[2] = nn.Identity()\n'),
        symptom="held == 6 and optimizer.param_groups[0]['params'][4].grad is None",
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
        by("Rebuild the optimizer", 'optimizer.param_groups[0]["params"] = list(net.parameters())', "optimizer = torch.optim.Adam(net.parameters(), lr=0.1)"),
        by('`for p in set(optimizer.state) - {p for g in optimizer.param_groups for p in g["params"]}: optimizer.state.pop(p)`', "optimizer.zero_grad()", 'for p in set(optimizer.state) - {p for g in optimizer.param_groups for p in g["params"]}: optimizer.state.pop(p)\noptimizer.zero_grad()'),
        symptom="len(optimizer.state) > 4",
    ),
    "zeros move what is frozen": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
x = torch.randn(3, 4)
net(x).mean().backward()
optimizer.step()
for i in range(2):
    optimizer.zero_grad(set_to_none=False)
    if i == 0:
        net[0].requires_grad_(False)
        start = net[0].weight.detach().clone()
    net(x).mean().backward()
    optimizer.step()
""",
        by("Clear with zero_grad(), which sets .grad to None by default", "set_to_none=False", ""),
        by("take what you freeze out of the optimizer", "        start =", "        optimizer.param_groups[0]['params'] = list(net[1].parameters())\n        optimizer.state = {p: s for p, s in optimizer.state.items() if p.requires_grad}\n        start ="),
        symptom="not torch.equal(start, net[0].weight)",
    ),
    "an old gradient moves what is frozen": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
net(x).mean().backward()
optimizer.step()
net[0].requires_grad_(False)
start = net[0].weight.detach().clone()
for p in net[1].parameters():
    p.grad = None
net(x).mean().backward()
optimizer.step()
""",
        by("module.zero_grad(set_to_none=True)", "start =", "net[0].zero_grad(set_to_none=True)\nstart ="),
        by("take it out of the optimizer", "start =", "optimizer.param_groups[0]['params'] = list(net[1].parameters())\nstart ="),
        symptom="not torch.equal(start, net[0].weight)",
    ),
    "requires_grad is compared": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
for p in net[0].parameters():
    p.requires_grad == False
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net[0].weight.detach().clone()
net(torch.randn(3, 4)).mean().backward()
optimizer.step()
""",
        by("`.requires_grad = False`", "p.requires_grad == False", "p.requires_grad = False"),
        symptom="not torch.equal(start, net[0].weight)",
    ),
    "requires_grad of a module is set": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
net[0].requires_grad = False
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net[0].weight.detach().clone()
net(torch.randn(3, 4)).mean().backward()
optimizer.step()
""",
        by("`.requires_grad_(False)` on the module", "net[0].requires_grad = False", "net[0].requires_grad_(False)"),
        by("set `.requires_grad` of each of its parameters", "net[0].requires_grad = False", "for p in net[0].parameters():\n    p.requires_grad = False"),
        symptom="not torch.equal(start, net[0].weight)",
    ),
    "a frozen table has a group": case(
        "AG406",
        """
table = nn.Embedding.from_pretrained(torch.randn(5, 4))
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD([{"params": table.parameters()}, {"params": net.parameters()}], lr=0.1)
start = table.weight.detach().clone()
for i in range(2):
    optimizer.zero_grad()
    net(table(torch.tensor([1, 2]))).mean().backward()
    optimizer.step()
""",
        by("call requires_grad_(True)", "net = nn", "table.requires_grad_(True)\nnet = nn"),
        by("(Embedding.from_pretrained(..., freeze=False))", "torch.randn(5, 4))", "torch.randn(5, 4), freeze=False)"),
        by("otherwise leave it out of the optimizer", '{"params": table.parameters()}, ', ""),
        symptom="torch.equal(start, table.weight) and len(optimizer.param_groups) == 2",
    ),
    "a part is frozen after the optimizer was made": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net[0].weight.detach().clone()
def slope(x):
    net.requires_grad_(False)
    x.requires_grad_(True)
    (g,) = torch.autograd.grad(net(x).sum(), x)
    net[1].requires_grad_(True)
    return g
for i in range(2):
    optimizer.zero_grad()
    g = slope(torch.randn(3, 4))
    net(g).mean().backward()
    optimizer.step()
""",
        by("To train them, call requires_grad_(True) on them before the steps", "    net[1].requires_grad_(True)", "    net[1].requires_grad_(True)\n    net[0].requires_grad_(True)"),
        by("otherwise leave them out of the optimizer", "SGD(net.parameters()", "SGD(net[1].parameters()"),
        symptom="torch.equal(start, net[0].weight) and len(optimizer.param_groups[0]['params']) == 4",
    ),
    "what was frozen is thawed by a loop over everything": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
net[0].requires_grad_(False)
for p in net.parameters():
    p.requires_grad = True
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net[0].weight.detach().clone()
net(torch.randn(3, 4)).mean().backward()
optimizer.step()
""",
        by("Freeze last, after whatever sets requires_grad of all parameters", "net[0].requires_grad_(False)\n", "", "optimizer =", "net[0].requires_grad_(False)\noptimizer ="),
        by("leave the frozen ones out of that loop", "for p in net.parameters()", "for p in net[1].parameters()"),
        symptom="not torch.equal(start, net[0].weight)",
    ),
    "freezing one of two tied weights freezes both": case(
        "AG406",
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5)
        self.head.weight = self.embed.weight
    def forward(self, x):
        return self.head(self.embed(x))
net = Model()
net.embed.requires_grad_(False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net.head.weight.detach().clone()
net(torch.tensor([1, 2])).pow(2).mean().backward()
optimizer.step()
""",
        by("Untie them (", "optimizer =", "net.head.weight = nn.Parameter(net.embed.weight.clone())\noptimizer ="),
        by("leave the tied weight out of the freezing", "net.embed.requires_grad_(False)\n", ""),
        symptom="torch.equal(start, net.head.weight)",
    ),
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
        by("Collect parameters from one parent module", "[*embed.parameters(), *head.parameters()]", "nn.ModuleList([embed, head]).parameters()"),
        by("list(dict.fromkeys(params))", "[*embed.parameters(), *head.parameters()]", "list(dict.fromkeys([*embed.parameters(), *head.parameters()]))"),
        symptom="len(optimizer.param_groups[0]['params']) == 2",
    ),
    "a group is added of what the optimizer has": case(
        "AG407",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
optimizer.add_param_group({"params": net[1].parameters(), "lr": 0.01})
""",
        by("set that group's lr (`optimizer.param_groups[i]['lr'] = ...`)", 'optimizer.add_param_group({"params": net[1].parameters(), "lr": 0.01})', "optimizer.param_groups[0]['lr'] = 0.01"),
        by("leave them out when it is made and add them here", "SGD(net.parameters()", "SGD(net[0].parameters()"),
    ),
    "two groups have the same parameters": case(
        "AG407",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD([{"params": net.parameters()}, {"params": net[1].parameters(), "lr": 0.01}], lr=0.1)
""",
        by("Leave them out of the general group: `own = set(map(id, net.get_submodule(\"1\").parameters())); rest = [p for p in net.parameters() if id(p) not in own]`",
           "optimizer =", "own = set(map(id, net[1].parameters())); rest = [p for p in net.parameters() if id(p) not in own]\noptimizer =", '{"params": net.parameters()}', '{"params": rest}'),
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
        by("Give each parameter to one optimizer only", "one = torch.optim.SGD(net.parameters()", "one = torch.optim.SGD(net[0].parameters()"),
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
        by("`copy_()` into other memory", "head.weight = nn.Parameter(embed.weight.data)", "with torch.no_grad():\n    head.weight.copy_(embed.weight)"),
        by("use one Parameter in both places", "nn.Parameter(embed.weight.data)", "embed.weight", "[*embed.parameters(), *head.parameters()]", "embed.parameters()"),
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
        by("`nn.ModuleList([make() for _ in range(n)])`", "[nn.Linear(4, 4)] * 3", "[nn.Linear(4, 4) for _ in range(3)]"),
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
        by("Make a module for each place, in a comprehension: `nn.ModuleList([make() for _ in range(n)])`", "[nn.Linear(4, 2)] * 3", "[nn.Linear(4, 2) for _ in range(3)]"),
        by("`copy.deepcopy(module)`", "[nn.Linear(4, 2)] * 3", "[copy.deepcopy(nn.Linear(4, 2)) for _ in range(3)]"),
        symptom="len(list(net.parameters())) == 2",
    ),
    "a library freezes a new head": case(
        "AG406",
        """
import peft
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
config = peft.LoraConfig(r=2, target_modules=["0"])
net = peft.get_peft_model(net, config)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
head = net.base_model.model[2]
""",
        by("To train some of them, call requires_grad_(True) on these afterwards", "optimizer =", "net.base_model.model[2].requires_grad_(True)\noptimizer ="),
        by("list a new head in modules_to_save", '["0"])', '["0"], modules_to_save=["2"])'),
        by("otherwise leave them out of the optimizer", "AdamW(net.parameters()", "AdamW([p for p in net.parameters() if p.requires_grad]"),
        symptom="not any(p.requires_grad for p in head.parameters()) and any(p is head.weight for p in optimizer.param_groups[0]['params'])",
        needs="peft",
    ),
    "a gradient is read after a step that changed it": case(
        "AG408",
        """
net = nn.Linear(4, 1)
optimizer = schedulefree.AdamWScheduleFree(net.parameters())
optimizer.train()
net(torch.full((3, 4), 3.0)).mean().backward()
optimizer.step()
size = net.weight.grad.norm()
""",
        by("Read the gradient (norm, histogram, clipping) between backward() and step()", "size = net.weight.grad.norm()\n", "", "optimizer.step()", "size = net.weight.grad.norm()\noptimizer.step()"),
        by("the ...Reference classes leave .grad alone", "schedulefree.AdamWScheduleFree", "schedulefree.AdamWScheduleFreeReference"),
        symptom="not torch.allclose(size, torch.tensor(6.0))",
    ),
    "a schedule-free optimizer is never put into train mode": case(
        "AG410",
        """
net = nn.Linear(4, 1)
optimizer = schedulefree.AdamWScheduleFree(net.parameters())
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by("Call optimizer.train() before training (beside model.train())", "net(torch", "optimizer.train()\nnet(torch"),
        by("optimizer.eval() before evaluation", "net(torch", "optimizer.train()\nnet(torch", "optimizer.step()\n", "optimizer.step()\noptimizer.eval()\n"),
    ),
    "a schedule-free checkpoint was saved in eval mode": case(
        "AG410",
        """
net = nn.Linear(4, 1)
optimizer = schedulefree.AdamWScheduleFree(net.parameters())
optimizer.train()
optimizer.load_state_dict(checkpoint)
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by("Call optimizer.train() after optimizer.load_state_dict(...)", "optimizer.load_state_dict(checkpoint)", "optimizer.load_state_dict(checkpoint)\noptimizer.train()"),
        before="""
first = nn.Linear(4, 1)
old = schedulefree.AdamWScheduleFree(first.parameters())
old.train()
first(torch.ones(3, 4)).mean().backward()
old.step()
old.eval()
checkpoint = copy.deepcopy(old.state_dict())
""",
    ),
    "a model is evaluated with schedule-free training weights": case(
        "AG410",
        """
net = nn.Linear(4, 1)
optimizer = schedulefree.AdamWScheduleFree(net.parameters())
optimizer.train()
for i in range(2):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    out = net(torch.ones(3, 4))
mode = optimizer.param_groups[0]["train_mode"]
net.train()
""",
        by("Call optimizer.eval() before evaluating or saving (beside model.eval()), and optimizer.train() afterwards", "net.eval()", "net.eval()\noptimizer.eval()", "net.train()", "net.train()\noptimizer.train()"),
        symptom="mode",
    ),
    "a model is trained in eval mode": case(
        "AG411",
        """
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(3, 4)
for epoch in range(3):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
    trained = model.training
    model.eval()
    with torch.no_grad():
        seen = model(x).pow(2).mean()
""",
        by("Call model.train() after the evaluation, before training goes on", "        seen = model(x).pow(2).mean()\n", "        seen = model(x).pow(2).mean()\n    model.train()\n"),
        by("`was_training = model.training` before `model.eval()`, `model.train(was_training)` after the evaluation", "    model.eval()\n", "    was_training = model.training\n    model.eval()\n", "        seen = model(x).pow(2).mean()\n", "        seen = model(x).pow(2).mean()\n    model.train(was_training)\n"),
        symptom="not trained",
    ),
    "a teacher is in train mode": case(
        "AG411",
        """
student = nn.Linear(4, 2)
teacher = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2)).requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.randn(3, 4)
for i in range(2):
    optimizer.zero_grad()
    with torch.no_grad():
        goal = teacher(x)
    F.mse_loss(student(x), goal).backward()
    optimizer.step()
""",
        by("Call teacher.eval() before training", "optimizer = torch", "teacher.eval()\noptimizer = torch"),
        symptom="teacher.training",
    ),
    "a teacher is put into train mode with its student": case(
        "AG411",
        """
class Distilled(nn.Module):
    def __init__(self):
        super().__init__()
        self.student = nn.Linear(4, 2)
        self.teacher = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2)).requires_grad_(False)
        self.teacher.eval()
    def forward(self, x):
        with torch.no_grad():
            goal = self.teacher(x)
        return F.mse_loss(self.student(x), goal)
net = Distilled()
optimizer = torch.optim.SGD(net.student.parameters(), lr=0.1)
net.train()
for i in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).backward()
    optimizer.step()
""",
        by("Call net.teacher.eval() after each train() of the model around it", "net.train()", "net.train()\nnet.teacher.eval()"),
        by("in that model's own train()", "    def forward", "    def train(self, mode=True):\n        super().train(mode)\n        self.teacher.eval()\n        return self\n    def forward"),
        symptom="net.teacher.training",
    ),
    "a checkpoint has a wrapper's names": case(
        "AG412",
        """
net = nn.Linear(4, 1)
given = {"module." + name: torch.zeros_like(value) for name, value in net.state_dict().items()}
net.load_state_dict(given, strict=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
""",
        by('`{name.removeprefix("module."): value for name, value in given.items()}`', "net.load", 'given = {name.removeprefix("module."): value for name, value in given.items()}\nnet.load'),
        by("Pass strict=True to load_state_dict: it then raises where names differ", "net.load", 'given = {name.removeprefix("module."): value for name, value in given.items()}\nnet.load', "strict=False", "strict=True"),
        symptom="bool(net.weight.any())",
    ),
    "a checkpoint has other names": case(
        "AG412",
        """
net = nn.Linear(4, 1)
given = {"kernel": torch.zeros(1, 4), "offset": torch.zeros(1)}
net.load_state_dict(given, strict=False)
""",
        by("Give the tensors the names that Linear.state_dict() has", '"kernel"', '"weight"', '"offset"', '"bias"'),
        by("Pass strict=True to load_state_dict", '"kernel"', '"weight"', '"offset"', '"bias"', "strict=False", "strict=True"),
        symptom="bool(net.weight.any())",
    ),
    "functional_call is given other names": case(
        "AG412",
        """
net = nn.Linear(4, 1)
given = {name.upper(): torch.zeros_like(value) for name, value in net.named_parameters()}
out = torch.func.functional_call(net, given, (torch.ones(3, 4),))
""",
        by("Give the tensors the names that Linear.named_parameters() has", "name.upper()", "name"),
        by("Pass strict=True to functional_call", "name.upper()", "name", "(torch.ones(3, 4),))", "(torch.ones(3, 4),), strict=True)"),
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
        by('Put "backbone." before the names', "net.load", 'given = {"backbone." + name: value for name, value in given.items()}\nnet.load'),
        by("Pass strict=True to load_state_dict", "net.load", 'given = {"backbone." + name: value for name, value in given.items()}\nnet.load', "strict=False", "strict=True"),
        symptom="bool(net.backbone.weight.any())",
    ),
    "a scheduler is left behind": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
for epoch in range(3):
    if epoch == 1:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    scheduler.step()
""",
        by("Make the scheduler again where the new optimizer is made: `ExponentialLR(optimizer, ...)`", "    if epoch == 1:\n        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n", "    if epoch == 1:\n        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)\n"),
        symptom="optimizer.param_groups[0]['lr'] == 0.1",
    ),
    "a step of one's own drops what it computes": case(
        "AG413",
        """
class Plain(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p = p - 0.1 * p.grad
net = nn.Linear(4, 1)
optimizer = Plain(net.parameters())
start = net.weight.detach().clone()
for i in range(3):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
""",
        by("`p.copy_(new_value)`", "p = p - 0.1 * p.grad", "p.copy_(p - 0.1 * p.grad)"),
        by("in place `p.sub_(lr * update)`", "p = p - 0.1 * p.grad", "p.sub_(0.1 * p.grad)"),
        symptom="torch.equal(start, net.weight)",
    ),
    "updates are rounded away": case(
        "AG413",
        """
net = nn.Linear(4, 1)
with torch.no_grad():
    net.weight.fill_(1.0)
    net.bias.fill_(1.0)
net.bfloat16()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)
x = torch.ones(3, 4, dtype=torch.bfloat16)
start = net.weight.detach().clone()
for i in range(3):
    optimizer.zero_grad()
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
""",
        by("Keep the parameters in float32 and compute in bfloat16 under torch.autocast()", "net.bfloat16()\n", "", "    loss = net", '    with torch.autocast("cpu", dtype=torch.bfloat16):\n        loss = net'),
        by("use an optimizer that keeps float32 copies of them", "optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)", "masters = [p.detach().float() for p in net.parameters()]\noptimizer = torch.optim.SGD(masters, lr=1e-1)",
           "    optimizer.step()", "    for m, p in zip(masters, net.parameters()):\n        m.grad = p.grad.float()\n    optimizer.step()\n    with torch.no_grad():\n        for m, p in zip(masters, net.parameters()):\n            p.copy_(m)", "    optimizer.zero_grad()", "    net.zero_grad()"),
        symptom="torch.equal(start, net.weight)",
        values=True,
    ),
    "a warm-up by integer division stays at 0": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step // 100)
start = net.weight.detach().clone()
for i in range(5):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    scheduler.step()
""",
        by("`(step + 1) / warmup_steps`", "step // 100", "(step + 1) / 100"),
        symptom="torch.equal(start, net.weight)",
    ),
    "a warm-up in steps is stepped once an epoch": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 4))
start = net.weight.detach().clone()
for i in range(5):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
scheduler.step()
""",
        by("Call the scheduler's step() after each optimizer.step()", "    optimizer.step()\nscheduler.step()", "    optimizer.step()\n    scheduler.step()"),
        by("`(step + 1) / warmup`", "step / 4", "(step + 1) / 4"),
        symptom="torch.equal(start, net.weight)",
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
        by("to torch.optim.SparseAdam, and the other parameters to another optimizer", "[*table.parameters(), *net.parameters()]", "net.parameters()", "net(table", "sparse = torch.optim.SparseAdam(table.parameters(), lr=0.1)\nnet(table", "optimizer.step()", "optimizer.step()\nsparse.step()"),
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
        by("to torch.optim.SparseAdam", "torch.optim.SGD(table.parameters(), lr=0.1, weight_decay=0.1)", "torch.optim.SparseAdam(table.parameters(), lr=0.1)"),
    ),
    "SparseAdam is given dense gradients": case(
        "AG414",
        """
table, net = nn.Embedding(5, 4, sparse=True), nn.Linear(4, 1)
optimizer = torch.optim.SparseAdam([*table.parameters(), *net.parameters()], lr=0.1)
net(table(torch.tensor([1, 2]))).mean().backward()
optimizer.step()
""",
        by("Give SparseAdam only the parameters with sparse gradients, and the others to another optimizer", "[*table.parameters(), *net.parameters()]", "table.parameters()", "net(table", "dense = torch.optim.Adam(net.parameters(), lr=0.1)\nnet(table", "optimizer.step()", "optimizer.step()\ndense.step()"),
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
        by("Convert the whole model, and what it is given, to one dtype", "net[1].double()", "net.double()", "torch.randn(3, 4)", "torch.randn(3, 4).double()"),
    ),
    "data are of another dtype": case(
        "AG415",
        """
net = nn.Linear(4, 1)
x = torch.from_numpy(np.ones((3, 4)))
out = net(x)
""",
        by("Bring x to the dtype of the parameters before the model is called", "out = net(x)", "out = net(x.float())"),
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
        by("`to_empty(device=...)` of its module", "out =", 'net.to_empty(device="cpu")\nout ='),
        by("a load with assign=True", "out =", "net.load_state_dict(weights, assign=True)\nout ="),
    ),
}
