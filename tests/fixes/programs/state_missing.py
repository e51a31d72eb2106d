"""State that is missing, or not kept (AG409)."""

from __future__ import annotations

from tests.fixes.cases import by, case

TRAINED = """
net = nn.Linear(4, 2)
x = torch.ones(3, 4)
old = torch.optim.Adam(net.parameters(), lr=0.1)
net(x).mean().backward()
old.step()
old.zero_grad()
checkpoint = copy.deepcopy(old.state_dict())
"""

CASES = {
    "new parameters are in the optimizer when it is loaded": case(
        "AG409",
        """
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
extra = nn.Linear(2, 1)
net.add_module("extra", extra)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
extra(net(x)).mean().backward()
optimizer.step()
""",
        by(
            "Build the optimizer with the parameters that it had when the checkpoint was written, load the checkpoint, then call add_param_group",
            "optimizer = torch.optim.Adam(net.parameters(), lr=0.1)\noptimizer.load_state_dict(checkpoint)\n",
            "optimizer = torch.optim.Adam([net.weight, net.bias], lr=0.1)\noptimizer.load_state_dict(checkpoint)\noptimizer.add_param_group({'params': list(extra.parameters())})\n",
        ),
        before=TRAINED,
    ),
    "a checkpoint has other groups": case(
        "AG409",
        """
optimizer = torch.optim.Adam([{"params": [net.weight], "weight_decay": 0.1}, {"params": [net.bias]}], lr=0.1)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by(
            "`old = torch.optim.Adam(net.parameters())`, `old.load_state_dict(checkpoint)`, and copy its state: `optimizer.state.update(old.state)`",
            "optimizer.load_state_dict(checkpoint)",
            "old = torch.optim.Adam(net.parameters())\nold.load_state_dict(checkpoint)\noptimizer.state.update(old.state)",
        ),
        before=TRAINED,
    ),
    "a checkpoint of two groups is loaded into one": case(
        "AG409",
        """
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by(
            "Load into an optimizer `old` that has the groups of the checkpoint (`old.load_state_dict(checkpoint)`), and copy its state: `optimizer.state.update(old.state)`",
            "optimizer.load_state_dict(checkpoint)",
            'old = torch.optim.Adam([{"params": [net.weight]}, {"params": [net.bias]}])\nold.load_state_dict(checkpoint)\noptimizer.state.update(old.state)',
        ),
        before=TRAINED.replace("net.parameters()", '[{"params": [net.weight]}, {"params": [net.bias]}]'),
    ),
    "a checkpoint lacks the state of a parameter": case(
        "AG409",
        """
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by(
            "Check that the checkpoint was written with the same parameters in the same order",
            'del checkpoint["state"][1]\n',
            "",
        ),
        before=TRAINED + 'del checkpoint["state"][1]\n',
        symptom="optimizer.state[net.weight]['step'] != optimizer.state[net.bias]['step']",
    ),
    "a file gives the parameters back, and its state stays there": case(
        "AG409",
        """
file = io.BytesIO()
torch.save({"net": net.state_dict(), "optimizer": checkpoint}, file)
file.seek(0)
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
saved = torch.load(file)
net.load_state_dict(saved["net"])
net(x).mean().backward()
optimizer.step()
""",
        by(
            "also load the state of the optimizer: `optimizer.load_state_dict(...)`",
            'net.load_state_dict(saved["net"])',
            'net.load_state_dict(saved["net"])\noptimizer.load_state_dict(saved["optimizer"])',
        ),
        before="import io\n" + TRAINED,
        symptom="optimizer.state[net.weight]['step'] == 1",
    ),
    "a load brings the old learning rate back": case(
        "AG413",
        """
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by(
            'set it after the load: `optimizer.param_groups[0]["lr"] = 0.02`',
            "optimizer.load_state_dict(checkpoint)",
            'optimizer.load_state_dict(checkpoint)\noptimizer.param_groups[0]["lr"] = 0.02',
        ),
        before=TRAINED,
        symptom="optimizer.param_groups[0]['lr'] == 0.1",
    ),
    "an option is switched on after the state was made": case(
        "AG409",
        """
net = nn.Linear(4, 2)
x = torch.ones(3, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for i in range(3):
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
    if i == 1:
        optimizer.param_groups[0]["amsgrad"] = True
""",
        by(
            "Pass amsgrad to Adam() when creating it",
            "lr=0.1)",
            "lr=0.1, amsgrad=True)",
            '    if i == 1:\n        optimizer.param_groups[0]["amsgrad"] = True\n',
            "",
        ),
        by(
            "start these parameters with fresh state: `optimizer.state.pop(parameter)`",
            '["amsgrad"] = True\n',
            '["amsgrad"] = True\n        for p in net.parameters():\n            optimizer.state.pop(p)\n',
        ),
    ),
    "an entry of the state was removed": case(
        "AG409",
        """
net = nn.Linear(4, 2)
x = torch.ones(3, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for i in range(3):
    optimizer.zero_grad()
    net(x).mean().backward()
    if i == 1:
        del optimizer.state[net.weight]["exp_avg"]
    optimizer.step()
""",
        by(
            "Start these parameters with fresh state: `optimizer.state.pop(parameter)`",
            'del optimizer.state[net.weight]["exp_avg"]',
            "optimizer.state.pop(net.weight)",
        ),
    ),
    "state of one's own is made for some parameters": case(
        "AG409",
        """
class Momentum(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
        for group in self.param_groups:
            for p in group["params"]:
                if p.requires_grad:
                    self.state[p]["buffer"] = torch.zeros_like(p)
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.state[p]["buffer"].mul_(0.9).add_(p.grad)
                    p.sub_(0.1 * self.state[p]["buffer"])
net = nn.Linear(4, 2)
net.bias.requires_grad_(False)
optimizer = Momentum(net.parameters())
for i in range(2):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    net.bias.requires_grad_(True)
""",
        by(
            "`for key in ['buffer']: self.state[p].setdefault(key, torch.zeros_like(p))` in Momentum.step()",
            '                    self.state[p]["buffer"].mul_',
            "                    for key in ['buffer']: self.state[p].setdefault(key, torch.zeros_like(p))\n                    self.state[p][\"buffer\"].mul_",
        ),
        by(
            "create it for all parameters of the groups, whether or not they require grad yet",
            "                if p.requires_grad:\n                    self.state[p]",
            "                self.state[p]",
        ),
    ),
    "an optimizer is made for each step": case(
        "AG409",
        """
net = nn.Linear(4, 2)
for i in range(3):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
""",
        by(
            "Create Adam once, before the loop",
            "    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)\n",
            "",
            "for i",
            "optimizer = torch.optim.Adam(net.parameters(), lr=0.1)\nfor i",
        ),
        symptom="optimizer.state[net.weight]['step'] == 1",
    ),
    "state is removed after each step": case(
        "AG409",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for i in range(3):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    last = optimizer.state[net.weight]["step"]
    optimizer.state.clear()
""",
        by("Do not clear or replace optimizer.state between steps", "    optimizer.state.clear()\n", ""),
        symptom="last == 1",
    ),
    "weights are put back without the state": case(
        "AG409",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
weights, state = copy.deepcopy(net.state_dict()), copy.deepcopy(optimizer.state_dict())
for i in range(3):
    if i == 2:
        net.load_state_dict(weights)
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
""",
        by(
            "Also load the saved state, before the next step: `optimizer.load_state_dict(...)`",
            "        net.load_state_dict(weights)\n",
            "        net.load_state_dict(weights)\n        optimizer.load_state_dict(state)\n",
        ),
        symptom="optimizer.state[net.weight]['step'] == 3",
    ),
    "the optimizer goes on, and its schedule begins anew": case(
        "AG409",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
optimizer.load_state_dict(saved["optimizer"])
for _ in range(2):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    scheduler.step()
""",
        by(
            "Also load the state of the scheduler: `scheduler.load_state_dict(...)`",
            'optimizer.load_state_dict(saved["optimizer"])\n',
            'optimizer.load_state_dict(saved["optimizer"])\nscheduler.load_state_dict(saved["scheduler"])\n',
        ),
        before="""
old = nn.Linear(4, 2)
first = torch.optim.Adam(old.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(first, 2)
for _ in range(3):
    old(torch.ones(3, 4)).mean().backward()
    first.step()
    schedule.step()
saved = copy.deepcopy({"optimizer": first.state_dict(), "scheduler": schedule.state_dict()})
""",
        symptom="scheduler.last_epoch == 2",
    ),
    "rows sorted, moments not": case(
        "AG409",
        """
table = nn.Parameter(torch.randn(6, 2))
optimizer = torch.optim.Adam([table], lr=0.1)
def step():
    optimizer.zero_grad()
    (table * torch.arange(1.0, 7.0)[:, None]).pow(2).sum().backward()
    optimizer.step()
step()
before = optimizer.state[table]["exp_avg"].clone()
index = torch.tensor([5, 3, 1, 0, 2, 4])
state = optimizer.state[table]
with torch.no_grad():
    table.copy_(table[index])
after = state["exp_avg"].clone()
step()
""",
        by(
            "Put the state into the same order, by the same index: "
            "`state['exp_avg'].copy_(state['exp_avg'][index])` for each of these entries of `optimizer.state[parameter]`.",
            "    table.copy_(table[index])\n",
            "    table.copy_(table[index])\n"
            "    for key in ('exp_avg', 'exp_avg_sq'):\n        state[key].copy_(state[key][index])\n",
        ),
        symptom="not torch.equal(after, before[index])",
    ),
}
