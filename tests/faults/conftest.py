"""What the campaigns share."""

collect_ignore = ["canary.py"]  # importing it is what mutated files must not lead to
