"""The papers' experiments, a folder each: study files and the drawings that serve that paper alone.

Run them from the folder that holds this one: ``distaff study run studies/kim18/fig7.yaml``.
"""
