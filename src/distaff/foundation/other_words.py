"""The names of settings in other libraries."""

ELSEWHERE = {
    **dict.fromkeys(("lr", "learning_rate_init", "step_size"), "learning_rate"),
    **dict.fromkeys(("latent_dim", "latent_dims", "n_latents", "z_dim", "n_components"), "latents"),
    **dict.fromkeys(("max_steps", "iterations", "max_iter", "num_steps"), "steps"),
    **dict.fromkeys(("epochs", "max_epochs", "num_epochs"), "steps"),
    **dict.fromkeys(("batch", "bs"), "batch_size"),
    **dict.fromkeys(("random_state", "random_seed"), "seed"),
    **dict.fromkeys(("optimiser", "optim"), "optimizer"),
    **dict.fromkeys(("wd", "l2"), "weight_decay"),
    **dict.fromkeys(("device", "gpu"), "accelerator"),
    **dict.fromkeys(("verbose", "progress_bar"), "progress"),
    **dict.fromkeys(("validation_split", "val_split", "test_size"), "hold_out"),
    **dict.fromkeys(("pretrained", "init_from", "ckpt_path", "warm_start"), "start"),
}


def called_here(name: str) -> str | None:
    """The setting that another library's name refers to, with any difference in meaning; None if unknown.

    >>> called_here("lr"), called_here("epochs"), called_here("gamma")
    ('learning_rate', 'steps, which counts batches,', None)
    """
    meant = ELSEWHERE.get(name)
    return f"{meant}, which counts batches," if "epochs" in name and meant else meant
