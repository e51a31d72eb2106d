"""Parameters that are frozen, or are to be (AG406)."""

from __future__ import annotations

from tests.fixes.cases import by, case

PRUNED = """
net, x = nn.Linear(4, 3), torch.randn(8, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
net(x).pow(2).mean().backward()
optimizer.step()
mask = (net.weight.detach().abs() > net.weight.detach().abs().median()).float()
with torch.no_grad():
    net.weight.mul_(mask)
"""

CASES = {
    "gradients of frozen parameters are set to zero": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for i in range(5):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    if i > 1:
        for p in net[0].parameters():
            p.grad.zero_()
    if i == 2:
        start = net[0].weight.detach().clone()
    optimizer.step()
""",
        by("Set the gradient to None instead: `p.grad = None`", "p.grad.zero_()", "p.grad = None"),
        symptom="not torch.equal(start, net[0].weight)",
    ),
    "a function freezes for another gradient": case(
        "AG406",
        """
body, head, x = nn.Linear(4, 3), nn.Linear(3, 1), torch.randn(8, 4)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)

def mapped(image):
    body.requires_grad_(False)
    (gradient,) = torch.autograd.grad(head(body(image)).sum(), image)
    return gradient

for step in range(4):
    if step == 2:
        start = body.weight.detach().clone()
    optimizer.zero_grad()
    head(body(x)).pow(2).mean().backward()
    optimizer.step()
    mapped(x.clone().requires_grad_())
""",
        by(
            "call requires_grad_(True) on all parameters that it froze",
            "    return gradient",
            "    body.requires_grad_(True)\n    return gradient",
        ),
        symptom="torch.equal(body.weight, start)",
    ),
    "pruned weights are updated": case(
        "AG406",
        PRUNED
        + """
for _ in range(2):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Apply the mask after each step(): `p.mul_(mask)` under torch.no_grad()",
            ".mean().backward()\n    optimizer.step()",
            ".mean().backward()\n    optimizer.step()\n    with torch.no_grad():\n        net.weight.mul_(mask)",
        ),
        by(
            "or multiply by it in the forward, as torch.nn.utils.prune does, and call prune.remove() only after the last step()",
            "with torch.no_grad():\n    net.weight.mul_(mask)\n",
            "from torch.nn.utils import prune\nprune.custom_from_mask(net, 'weight', mask)\n",
            "    optimizer.step()\n",
            "    optimizer.step()\nprune.remove(net, 'weight')\n",
        ),
        symptom="net.weight[mask == 0].ne(0).any()",
    ),
    "averages move pruned weights": case(
        "AG406",
        PRUNED
        + """
net.weight.register_hook(lambda gradient: gradient * mask)
for _ in range(2):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            'Apply the mask to the state as well: `optimizer.state[p]["exp_avg"].mul_(mask)`',
            "    net.weight.mul_(mask)\n",
            "    net.weight.mul_(mask)\noptimizer.state[net.weight]['exp_avg'].mul_(mask)\n",
        ),
        by(
            "or apply it to the weights after each step()",
            "    net(x).pow(2).mean().backward()\n    optimizer.step()",
            "    net(x).pow(2).mean().backward()\n    optimizer.step()\n    net.weight.data.mul_(mask)",
        ),
        symptom="net.weight[mask == 0].ne(0).any()",
    ),
    "a frozen embedding has max_norm": case(
        "AG406",
        """
words, net = nn.Embedding.from_pretrained(3 * torch.ones(5, 4), freeze=True, max_norm=1.0), nn.Linear(4, 1)
start = words.weight.clone()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(words(torch.tensor([1, 2]))).pow(2).mean().backward()
optimizer.step()
""",
        by("Make the embedding without max_norm", ", max_norm=1.0", ""),
        by(
            "or scale all of its rows once",
            "from_pretrained(3 * torch.ones(5, 4), freeze=True, max_norm=1.0)",
            "from_pretrained(torch.renorm(3 * torch.ones(5, 4), 2, 0, 1.0), freeze=True)",
        ),
        symptom="not torch.equal(start, words.weight)",
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
        by("Clear gradients with zero_grad(), which sets .grad to None by default", "set_to_none=False", ""),
        by(
            "remove frozen parameters from the optimizer",
            "        start =",
            "        optimizer.param_groups[0]['params'] = list(net[1].parameters())\n        start =",
        ),
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
        by(
            "remove them from the optimizer",
            "start =",
            "optimizer.param_groups[0]['params'] = list(net[1].parameters())\nstart =",
        ),
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
        by(
            "set `.requires_grad` of each of its parameters",
            "net[0].requires_grad = False",
            "for p in net[0].parameters():\n    p.requires_grad = False",
        ),
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
        by("otherwise remove it from the optimizer", '{"params": table.parameters()}, ', ""),
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
        by(
            "To train them, call requires_grad_(True) on them before the steps",
            "    net[1].requires_grad_(True)",
            "    net[1].requires_grad_(True)\n    net[0].requires_grad_(True)",
        ),
        by("otherwise remove them from the optimizer", "SGD(net.parameters()", "SGD(net[1].parameters()"),
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
        by(
            "Freeze last, after the code that sets requires_grad of all parameters",
            "net[0].requires_grad_(False)\n",
            "",
            "optimizer =",
            "net[0].requires_grad_(False)\noptimizer =",
        ),
        by("exclude the frozen parameters from that loop", "for p in net.parameters()", "for p in net[1].parameters()"),
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
        by("do not freeze the tied weight", "net.embed.requires_grad_(False)\n", ""),
        symptom="torch.equal(start, net.head.weight)",
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
        by(
            "To train some of them, call requires_grad_(True) on those afterwards",
            "optimizer =",
            "net.base_model.model[2].requires_grad_(True)\noptimizer =",
        ),
        by("list a new head in modules_to_save", '["0"])', '["0"], modules_to_save=["2"])'),
        by(
            "otherwise remove them from the optimizer",
            "AdamW(net.parameters()",
            "AdamW([p for p in net.parameters() if p.requires_grad]",
        ),
        symptom="not any(p.requires_grad for p in head.parameters()) and any(p is head.weight for p in optimizer.param_groups[0]['params'])",
        needs="peft",
    ),
    "a context unfreezes what was frozen before it": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 1))
start = net[0].weight.clone()
source = nn.Linear(4, 4)
own, other = torch.optim.SGD(net.parameters(), lr=0.1), torch.optim.SGD(source.parameters(), lr=0.1)
for _ in range(2):
    old = [p.requires_grad for p in net.parameters()]
    for p in net.parameters():
        p.requires_grad_(False)
    other.zero_grad()
    net(source(torch.ones(3, 4))).pow(2).mean().backward()
    other.step()
    for p, before in zip(net.parameters(), old):
        p.requires_grad_(True)
    own.zero_grad()
    (net(torch.ones(3, 4)) - 1).pow(2).mean().backward()
    own.step()
""",
        by("Unfreeze only what was not frozen before", "p.requires_grad_(True)", "p.requires_grad_(before)"),
        symptom="not torch.equal(net[0].weight, start)",
    ),
    "a merged model is still frozen": case(
        "AG406",
        """
import peft
base = nn.Sequential()
base.add_module("body", nn.Linear(4, 4))
base.add_module("head", nn.Linear(4, 2))
model = peft.get_peft_model(base, peft.LoraConfig(r=2, target_modules=["body"], modules_to_save=["head"]))
first = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
model(torch.ones(3, 4)).square().mean().backward()
first.step()
model = model.merge_and_unload()
second = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    second.zero_grad()
    model(torch.ones(3, 4)).square().mean().backward()
    second.step()
frozen = [p for group in second.param_groups for p in group["params"] if not p.requires_grad]
""",
        by(
            "call requires_grad_(True) on them behind the call that removes the adapters",
            "model.merge_and_unload()",
            "model.merge_and_unload().requires_grad_(True)",
        ),
        by(
            "otherwise give the optimizer only the parameters that require grad",
            "SGD(model.parameters(), lr=0.1)",
            "SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)",
        ),
        symptom="frozen",
        needs="peft",
    ),
}
