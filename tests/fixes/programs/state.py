"""State of optimizers that does not fit its parameters (AG401, AG402, AG403, AG409)."""

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
    "state is on another device": case(
        "AG401",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
for state in optimizer.state.values():
    state["exp_avg"] = state["exp_avg"].to("meta")
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by("State on meta has no data: load it again", "net(torch", "optimizer.load_state_dict(checkpoint)\nnet(torch"),
        before=TRAINED,
    ),
    "the model is moved after its optimizer was loaded": case(
        "AG401",
        """
torch.__future__.set_swap_module_params_on_conversion(True)
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net.to("meta")
torch.__future__.set_swap_module_params_on_conversion(False)
""",
        by("Move the model first, then build the optimizer and load its state", 'net.to("meta")\n', "", "optimizer = torch", 'net.to("meta")\noptimizer = torch'),
        by("For the state that is there now: `", "conversion(False)", "conversion(False)\nfor p, s in optimizer.state.items():\n    s.update({k: s[k].to(p.device) for k in ('exp_avg', 'exp_avg_sq')})"),
        before=TRAINED,
        symptom="optimizer.state[net.weight]['exp_avg'].device != net.weight.device",
    ),
    "a step of one's own makes state on another device": case(
        "AG401",
        """
class Momentum(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p not in self.state:
                    self.state[p]["buffer"] = torch.zeros(p.shape)
net = nn.Linear(4, 2).to("meta")
optimizer = Momentum(net.parameters())
net(torch.ones(3, 4, device="meta")).mean().backward()
optimizer.step()
""",
        by("`torch.zeros_like(p)`", "torch.zeros(p.shape)", "torch.zeros_like(p)"),
        by("with `device=p.device`", "torch.zeros(p.shape)", "torch.zeros(p.shape, device=p.device)"),
        symptom="optimizer.state[net.weight]['buffer'].device != net.weight.device",
    ),
    "the model is converted after the optimizer was loaded": case(
        "AG402",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net.double()
net(torch.ones(3, 4).double()).mean().backward()
optimizer.step()
""",
        by("Convert the model first, then build the optimizer and load its state", "net.double()\n", "", "optimizer = torch", "net.double()\noptimizer = torch"),
        by("`optimizer.load_state_dict(optimizer.state_dict())` casts it", "net.double()\n", "net.double()\noptimizer.load_state_dict(optimizer.state_dict())\n"),
        before=TRAINED,
    ),
    "a load casts the state down": case(
        "AG402",
        """
net = nn.Linear(4, 2).bfloat16()
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
loss = net(x.to(net.weight.dtype)).mean()
""",
        by("`net.to(torch.float32)` before the optimizer is built and loaded", "optimizer = torch", "net.to(torch.float32)\noptimizer = torch"),
        by("compute in the lower precision under torch.autocast", "optimizer = torch", "net.to(torch.float32)\noptimizer = torch", "loss =", 'with torch.autocast("cpu", dtype=torch.bfloat16):\n    loss ='),
        before=TRAINED,
        symptom="optimizer.state[net.weight]['exp_avg'].dtype == torch.bfloat16",
    ),
    "a load casts state of one's own optimizer": case(
        "AG402",
        """
net = nn.Linear(4, 2).bfloat16()
optimizer = Counting(net.parameters(), lr=0.1)
optimizer.load_state_dict(saved)
""",
        by("Restore the dtype after loading (`", "load_state_dict(saved)", "load_state_dict(saved)\nfor s in optimizer.state.values():\n    s.update({k: s[k].to(torch.float32) for k in ['buffer']})"),
        by("override load_state_dict in the optimizer", "Counting(net", "Kept(net"),
        before="""
class Counting(torch.optim.SGD):
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["buffer"] = torch.zeros(p.shape)
class Kept(Counting):
    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        for s in self.state.values():
            s["buffer"] = s["buffer"].float()
first = nn.Linear(4, 2)
own = Counting(first.parameters(), lr=0.1)
first(torch.ones(1, 4)).mean().backward()
own.step()
saved = own.state_dict()
""",
        symptom="optimizer.state[net.weight]['buffer'].dtype == torch.bfloat16",
    ),
    "a checkpoint has other shapes": case(
        "AG403",
        """
net = nn.Linear(4, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by("Pad or cut the loaded state to the new shape", "load_state_dict(checkpoint)", "load_state_dict(checkpoint)\nfor p, s in optimizer.state.items():\n    for k in ('exp_avg', 'exp_avg_sq'):\n        s[k] = torch.cat([s[k], torch.zeros_like(p)[:1]])"),
        by("start these parameters with fresh state: `optimizer.state.pop(parameter)`", "load_state_dict(checkpoint)", "load_state_dict(checkpoint)\nfor p in net.parameters():\n    optimizer.state.pop(p)"),
        before=TRAINED,
    ),
    "a parameter is resized through .data": case(
        "AG403",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
net.bias.data = torch.cat([net.bias.data, torch.zeros(1)])
net.weight.data = torch.cat([net.weight.data, torch.zeros(1, 4)])
optimizer.zero_grad()
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by("Make a new nn.Parameter and a new optimizer when a shape changes", "net.bias.data = torch.cat([net.bias.data, torch.zeros(1)])", "net.bias = nn.Parameter(torch.cat([net.bias.data, torch.zeros(1)]))",
           "net.weight.data = torch.cat([net.weight.data, torch.zeros(1, 4)])\n", "net.weight = nn.Parameter(torch.cat([net.weight.data, torch.zeros(1, 4)]))\noptimizer = torch.optim.Adam(net.parameters(), lr=0.1)\n"),
        by("change the state in the same way, `optimizer.state[parameter][", "optimizer.zero_grad()\n", "for p, s in optimizer.state.items():\n    for k in ('exp_avg', 'exp_avg_sq'):\n        s[k] = torch.cat([s[k], torch.zeros_like(p)[:1]])\noptimizer.zero_grad()\n"),
        by("drop it: `optimizer.state.pop(parameter)`", "optimizer.zero_grad()\n", "for p in net.parameters():\n    optimizer.state.pop(p)\noptimizer.zero_grad()\n"),
    ),
    "parameters are in another order than when they were saved": case(
        "AG403",
        """
optimizer = torch.optim.Adam([net.bias, net.weight], lr=0.1)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by("Build the optimizer from the same parameters in the same order and groups", "[net.bias, net.weight]", "[net.weight, net.bias]"),
        before=TRAINED,
    ),
    "named parameters are in another order than when they were saved": case(
        "AG403",
        """
optimizer = torch.optim.Adam(list(net.named_parameters())[::-1], lr=0.1)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by("Build the optimizer from the same parameters in the same order and groups", "list(net.named_parameters())[::-1]", "net.named_parameters()"),
        by("renumber the state by name: `names = ", "optimizer.load_state_dict(checkpoint)", 'names = [n for g in checkpoint["param_groups"] for n in g["param_names"]]\nown = [n for g in optimizer.param_groups for n in g["param_names"]]\noptimizer.load_state_dict({"state": {i: checkpoint["state"][names.index(n)] for i, n in enumerate(own) if names.index(n) in checkpoint["state"]}, "param_groups": optimizer.state_dict()["param_groups"]})'),
        before=TRAINED.replace("net.parameters()", "net.named_parameters()"),
    ),
    "a checkpoint is another optimizer's": case(
        "AG403",
        """
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by("Load the checkpoint into an optimizer of the class that wrote it", "torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)", "torch.optim.Adam(net.parameters(), lr=0.1)"),
        by("start this one with fresh state", "optimizer.load_state_dict(checkpoint)\n", ""),
        before=TRAINED,
    ),
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
        by("Build the optimizer with the parameters that it had when the checkpoint was written, load, and then call add_param_group",
           "optimizer = torch.optim.Adam(net.parameters(), lr=0.1)\noptimizer.load_state_dict(checkpoint)\n", "optimizer = torch.optim.Adam([net.weight, net.bias], lr=0.1)\noptimizer.load_state_dict(checkpoint)\noptimizer.add_param_group({'params': list(extra.parameters())})\n"),
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
        by("`old = torch.optim.Adam(net.parameters())`, `old.load_state_dict(checkpoint)`, and hand its state over: `optimizer.state.update(old.state)`",
           "optimizer.load_state_dict(checkpoint)", "old = torch.optim.Adam(net.parameters())\nold.load_state_dict(checkpoint)\noptimizer.state.update(old.state)"),
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
        by("Load into an optimizer `old` that has the groups of the checkpoint (`old.load_state_dict(checkpoint)`), and hand its state over: `optimizer.state.update(old.state)`",
           "optimizer.load_state_dict(checkpoint)", 'old = torch.optim.Adam([{"params": [net.weight]}, {"params": [net.bias]}])\nold.load_state_dict(checkpoint)\noptimizer.state.update(old.state)'),
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
        by("Check that the checkpoint was written with the same parameters in the same order", 'del checkpoint["state"][1]\n', ""),
        before=TRAINED + 'del checkpoint["state"][1]\n',
        symptom="optimizer.state[net.weight]['step'] != optimizer.state[net.bias]['step']",
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
        by("Pass amsgrad to Adam() when it is made", "lr=0.1)", "lr=0.1, amsgrad=True)", '    if i == 1:\n        optimizer.param_groups[0]["amsgrad"] = True\n', ""),
        by("start these parameters with fresh state: `optimizer.state.pop(parameter)`", '["amsgrad"] = True\n', '["amsgrad"] = True\n        for p in net.parameters():\n            optimizer.state.pop(p)\n'),
    ),
    "an entry of the state was removed": case(
        "AG409",
        """
net = nn.Linear(4, 2)
x = torch.ones(3, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    net(x).mean().backward()
    if i == 1:
        del optimizer.state[net.weight]["exp_avg"]
    optimizer.step()
""",
        by("Start these parameters with fresh state: `optimizer.state.pop(parameter)`", 'del optimizer.state[net.weight]["exp_avg"]', "optimizer.state.pop(net.weight)"),
    ),
    "state is not sharded like its parameters": case(
        "AG403",
        """
net = nn.Linear(4, 2)
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
torch.distributed.fsdp.fully_shard(net, mesh=mesh)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net(x).mean().backward()
optimizer.step()
""",
        by("which shards the state like its parameter", "optimizer.load_state_dict(checkpoint)", "set_optimizer_state_dict(net, optimizer, optim_state_dict=named, options=StateDictOptions(full_state_dict=True))"),
        by("state = torch.distributed.fsdp.FullyShardedDataParallel.rekey_optim_state_dict(checkpoint, OptimStateKeyType.PARAM_NAME, model)", "optimizer.load_state_dict(checkpoint)",
           "state = torch.distributed.fsdp.FullyShardedDataParallel.rekey_optim_state_dict(checkpoint, OptimStateKeyType.PARAM_NAME, net)\nset_optimizer_state_dict(net, optimizer, optim_state_dict=state, options=StateDictOptions(full_state_dict=True))"),
        before=TRAINED + """
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict, set_optimizer_state_dict
from torch.distributed.fsdp import OptimStateKeyType
named = copy.deepcopy(get_optimizer_state_dict(net, old))
store = torch.distributed.HashStore()
if not torch.distributed.is_initialized():
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
""",
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
        by("`for key in ['buffer']: self.state[p].setdefault(key, torch.zeros_like(p))` in Momentum.step()", "                    self.state[p][\"buffer\"].mul_", "                    for key in ['buffer']: self.state[p].setdefault(key, torch.zeros_like(p))\n                    self.state[p][\"buffer\"].mul_"),
        by("make it for all parameters of the groups, whether they require grad yet or not", "                if p.requires_grad:\n                    self.state[p]", "                self.state[p]"),
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
        by("Make Adam once, before the loop", "    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)\n", "", "for i", "optimizer = torch.optim.Adam(net.parameters(), lr=0.1)\nfor i"),
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
        by("Leave optimizer.state as step() left it", "    optimizer.state.clear()\n", ""),
        symptom="last == 1",
    ),
}
