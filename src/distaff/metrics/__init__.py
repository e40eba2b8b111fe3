"""Metrics: arrays in, a ``Score`` out; nothing here needs a model or a framework."""
