"""Speed as ratios taken in one run; processes keep freed memory, as ``distaff`` does, unless told not to."""

from distaff.memory import keep_freed_memory

keep_freed_memory()  # before torch is imported
