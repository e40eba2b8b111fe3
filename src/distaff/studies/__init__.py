"""Studies: many runs from one short file, on this machine or on a cluster, as one table."""
