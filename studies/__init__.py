"""The papers' experiments, one folder per paper: study files, and drawings for that paper only.

Run them from the folder that contains this one: ``distaff study run studies/kim18/fig7.yaml``.
"""
