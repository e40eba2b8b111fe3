"""Training: one visible loop, and a run folder that survives anything."""
