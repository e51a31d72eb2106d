"""What the authors of programs wrote instead of the faults that they had put in."""

BY_AUTHORS: dict[str, tuple[tuple[str, str], ...]] = {
    "hf_trainer_own_loss": (("self.model(input_ids", "model(input_ids"),),
    "wrapped_every_other_step": (("        if step % 2 == 0:\n            return self.model  # cause\n", ""),),
    "frozen_when_train_is_called": (
        ("model = DDP(Classifier())  # also", "net = Classifier()\n    net.train()\n    model = DDP(net)"),
    ),
    "accelerate_accumulate": (("_, opt, loader = prepared  # cause", "model, opt, loader = prepared"),),
    "clip_gathered_negatives": (
        (
            "dist.all_gather(out, t.contiguous())  # cause",
            (
                "dist.all_gather(out, t.contiguous())\n"
                "    out[dist.get_rank()] = t * dist.get_world_size()\n"
                "    out[dist.get_rank()] = out[dist.get_rank()] - (t * (dist.get_world_size() "
                "- 1)).detach()"
            ),
        ),
    ),
    "clip_then_reduce": (
        (
            "nn.utils.clip_grad_norm_(params, 1.0)  # cause",
            "reduce_([p.grad for p in params])\n        nn.utils.clip_grad_norm_(params, 1.0)",
        ),
    ),
    "ddp_aux_loss": (("logits = self.net(x)  # cause", "logits = self.ddp(x)"),),
    "ddp_branch_by_rank": (("ddp = DDP(TwoTask())  # cause", "ddp = DDP(TwoTask(), find_unused_parameters=True)"),),
    "ddp_grad_penalty": (
        ("grads = torch.autograd.grad(loss, params)  # cause", "loss.backward()\n    grads = [p.grad for p in params]"),
    ),
    "ddp_gradual_unfreeze": (
        ("set_trainable(net.encoder, True)  # cause", "set_trainable(net.encoder, True)\n            ddp = DDP(net)"),
    ),
    "ddp_logged_hook": (("return out  # cause", "return out.div_(dist.get_world_size(state.group))"),),
    "ddp_micro_sync": (("sync_now = i % ACCUM == 0  # cause", "sync_now = boundary"),),
    "ddp_reinit_head": (
        (
            "nn.init.normal_(net.head.weight, std=0.02)  # cause",
            "nn.init.normal_(net.head.weight, std=0.02)\n    dist.broadcast(net.head.weight.data, src=0)",
        ),
    ),
    "ddp_step_in_backward": (("FUSED = True  # cause", "FUSED = False"),),
    "dtensor_local_scale": (
        ("s = self.scale.to_local()  # cause", "s = self.scale.to_local(grad_placements=[Partial()])"),
    ),
    "epochs_with_sampler": (
        ("for i, x, y in loader:  # cause", "sampler.set_epoch(epoch)\n        for i, x, y in loader:"),
    ),
    "fsdp1_clip": (
        ("nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)  # cause", "model.clip_grad_norm_(MAX_NORM)"),
    ),
    "fsdp2_decay_groups": (("param_groups = groups(model)  # cause", "param_groups = groups(shard(model))"),),
    "fsdp2_hand_clip": (("norm = sq.sqrt()  # cause", "dist.all_reduce(sq)\n    norm = sq.sqrt()"),),
    "funcol_average": (("p.grad.div_(dist.get_world_size())  # cause", "p.grad = g / dist.get_world_size()"),),
    "local_sgd_batchnorm": (
        ("for t in module.parameters():  # cause", "for t in [*module.parameters(), *module.buffers()]:"),
    ),
    "mean_teacher": (("if is_main():  # cause", "if True:"),),
    "pipe_all_forward": (("y = outs.pop(0)  # cause", "y = outs.pop()"),),
    "pipe_tied_ends": (
        ("dist.all_reduce(shared)  # cause", "dist.all_reduce(shared)\n        stage.wte.weight.grad.copy_(shared)"),
    ),
    "resume_run": (("if dist.get_rank() == 0:  # cause", "if state['opt']:"),),
    "rollout_seeds": (("self.env = Bandit(seed)  # cause", "self.env = Bandit(seed + 1000 * dist.get_rank())"),),
    "skip_spikes": (("if guard.ok(value.item()):  # cause", "if guard.ok(mean_over_ranks(value).item()):"),),
    "token_normalizer": (
        (
            "loss = summed_loss(ddp(t[:, :-1]), t) / count  # cause",
            "loss = summed_loss(ddp(t[:, :-1]), t) * world / count",
        ),
    ),
    "tp_column_row": (("return g  # cause", "g = g.clone()\n        dist.all_reduce(g)\n        return g"),),
    "zero1_adam": (
        (
            "opt.step()  # cause",
            (
                "for p in model.parameters():\n"
                "            dist.all_reduce(p.grad)\n"
                "            p.grad /= world\n"
                "        opt.step()"
            ),
        ),
    ),
}
