"""Training (private): one short loop, which can be stopped at any moment and resumed bit for bit.

The public functions are ``distaff.train`` and ``distaff.resume``. The loop (``loop.py``) does not depend on
objectives: a learner has an ``update(batch, step)``; there is one learner for VAEs (``learner.py``) and one
for GANs (``gan_learner.py``). To add another, write such a class and select it in ``job.py`` by what its
recipe returns.
"""

from distaff.foundation.process import prepare_process

# Before torch is imported: later, glibc would keep less memory, and a step would take a sixth longer.
prepare_process()
