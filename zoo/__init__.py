"""How models come into ``src/distaff/zoo/models``: ``python -m zoo.shelve``, by ``zoo/rules.yaml``."""
