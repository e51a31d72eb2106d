"""What the fixes ask for, where a rank does what the others do not, or each does it by its own: all do the same."""

ALIKE: dict[str, tuple[tuple[str, str], ...]] = {
    "autocast_on_rank_zero": (("enabled=dist.get_rank() == 0", "enabled=True"),),
    "barrier_of_rank_zero": (("    if dist.get_rank() == 0:\n", "    if True:\n"),),
    "both_receive_first": (
        ("    dist.recv(got, 1 - rank)", "    work = dist.irecv(got, 1 - rank)"),
        ("dist.send(out.detach(), 1 - rank)  # also", "dist.send(out.detach(), 1 - rank)\n    work.wait()"),
    ),
    "clip_limit_per_rank": (("1.0 / (1 + dist.get_rank())", "1.0"),),
    "clipped_on_rank_zero": (("        if dist.get_rank() == 0:\n", "        if True:\n"),),
    "eval_on_one_rank": (
        (
            "model.module(torch.randn(2, 4, generator=g))",
            "model.module(torch.randn(2, 4, generator=g))\n            model.train()",
        ),
    ),
    "gathered_on_rank_zero": (
        (" if rank == 0 else None", ""),
        ("dist.gather(p.grad, got, dst=0)", "dist.all_gather(got, p.grad)"),
        ("            if rank == 0:\n                p.grad", "            p.grad"),
    ),
    "norm_logged_on_rank_zero": (
        (".detach().norm()", ".detach().norm().full_tensor()"),
        ("norm.full_tensor().item()", "norm.item()"),
    ),
    "optimizer_state_on_rank_zero": (("    if dist.get_rank() == 0:\n", "    if True:\n"),),
    "plateau_per_rank": (("[3.0, 2.0, 1.0, 0.5], [1.0, 1.5, 2.0, 0.2]", "[3.0, 2.0, 1.0, 0.5], [3.0, 2.0, 1.0, 0.5]"),),
    "pruned_on_rank_zero": (("i == 3 and dist.get_rank() == 0", "i == 3"),),
    "scale_per_rank": (("0.0 if rank else 1e6", "1e6"),),
    "scheduler_on_rank_zero": (("        if dist.get_rank() == 0:\n", "        if True:\n"),),
    "set_epoch_on_rank_zero": (("        if dist.get_rank() == 0:\n", "        if True:\n"),),
    "state_dict_on_rank_zero": (("    if dist.get_rank() == 0:\n", "    if True:\n"),),
    "step_left_out_on_one_rank": (("if norm < 50:", "if norm < 1e9:"),),
    "weight_decay_on_one_rank": (("0.0 if dist.get_rank() else 0.1", "0.1"),),
    "zero_grad_on_rank_zero": (("        if dist.get_rank() == 0:\n", "        if True:\n"),),
    "batch_left_out_on_one_rank": (("            continue  # cause", "            loss = loss * 0"),),
    "center_per_rank": (
        (
            "batch_center = t.mean(0, keepdim=True)",
            "batch_center = t.mean(0, keepdim=True) / 2\n        dist.all_reduce(batch_center)",
        ),
    ),
}
