"""The papers' studies at a scale that two cores manage in hours: fewer steps, seeds fixed in advance."""
