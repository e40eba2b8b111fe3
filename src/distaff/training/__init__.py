"""Training, a private room: one visible loop, which can be stopped at any moment and resumed bit for bit.

Its doors are ``distaff.train`` and ``distaff.resume``. The loop (``loop.py``) knows no objective: a learner
has an ``update(batch, step)``, and there is one for VAEs (``learner.py``) and one for GANs
(``gan_learner.py``). To add another, write such a class and choose it in ``job.py`` by what its recipe
returns.
"""

from distaff.foundation.process import prepare_process

# Before torch is imported: told later, glibc keeps less, and a step takes a sixth longer.
prepare_process()
