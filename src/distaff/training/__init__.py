"""Training: one visible loop, and a run folder that survives anything."""

from distaff.foundation.memory import keep_freed_memory

# Before torch is imported: told later, glibc keeps less, and a step takes a sixth longer.
keep_freed_memory()
