import torch
from lightning_fabric import Fabric

from distaff.objectives import recipes
from distaff.objectives.critics import CriticSettings, DensityRatio
from distaff.training.batches import Batches, seed_step
from distaff.training.learner import VAELearner, make_adam
from tests import toys

CRITIC = CriticSettings(hidden=32, layers=2)


class Spy:
    """An optimiser that leaves the weights alone and remembers who had a gradient when it was called."""

    def __init__(self, learner):
        self.learner = learner
        self.seen = []

    def step(self):
        self.seen.append(
            {
                name: any(p.grad is not None for p in m.parameters())
                for name, m in self.learner.modules.items()
            }
        )

    def zero_grad(self):
        for module in self.learner.modules.values():
            module.zero_grad()


def make_learner(data, gamma=10.0):
    model = toys.model(data)
    objective = recipes.factor_vae(gamma, CRITIC)
    optimiser = make_adam(model.parameters(), 1e-3, (0.9, 0.999))
    return VAELearner(model, objective, optimiser, len(data), Fabric(accelerator="cpu", devices=1))


def test_each_step_gives_gradients_to_its_own_network_only():
    data = toys.ring(200)
    learner = make_learner(data)
    spy = Spy(learner)
    learner.optimisers = dict.fromkeys(learner.optimisers, spy)
    learner.update(Batches(data, 32, 0, torch.device("cpu")), 0)
    vae_step, critic_step = spy.seen
    assert vae_step == {"model": True, "critic.total_correlation": False}
    assert critic_step == {"model": False, "critic.total_correlation": True}


def test_the_total_correlation_pulls_at_the_encoder():
    data = toys.ring(200)
    gradients = {}
    for gamma in (0.0, 100.0):
        learner = make_learner(data, gamma)
        torch.manual_seed(1)
        for parameter in learner.critics["total_correlation"].parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        remembered = []
        learner._descend = lambda name, module, loss, seen=remembered: seen.append((name, loss))
        seed_step(0, 0, 0)
        learner.update(Batches(data, 32, 0, torch.device("cpu")), 0)
        (first, *_) = remembered
        encoder = list(learner.model.encoder.parameters())
        gradients[gamma] = torch.cat([g.flatten() for g in torch.autograd.grad(first[1], encoder)])
    assert not torch.allclose(gradients[0.0], gradients[100.0])


def test_the_critic_sees_the_first_batch_and_an_independent_second_one():
    data = toys.ring(1000)
    batches = Batches(data, 64, 0, torch.device("cpu"))
    overlap = [len(set(batches.indices(i)) & set(batches.indices(i, stream=1))) for i in range(15)]
    # Independent draws of 64 of 1000 share 4.1 on average; the same batch would share 64.
    assert 1 < sum(overlap) / len(overlap) < 8


def test_the_critic_learns_after_the_vae_has_moved():
    data = toys.ring(200)
    learner = make_learner(data)
    before = [p.clone() for p in learner.model.parameters()]
    had_moved = []

    def reference(model, x):
        had_moved.append(not all(map(torch.equal, before, model.parameters())))
        return model.encode(x).mode()

    learner.ratios = [DensityRatio("total_correlation", reference, CRITIC)]
    learner.update(Batches(data, 32, 0, torch.device("cpu")), 0)
    assert had_moved == [True]
