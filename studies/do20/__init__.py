"""Do & Tran 2020, "Theory and Evaluation Metrics for Learning Disentangled Representations"."""
