"""Where observations come from: one file a data set, each with a ``load() -> Dataset``."""
