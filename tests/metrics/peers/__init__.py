"""The peers' and papers' metrics once more, written from their definitions for the tests alone.

Plain and slow: loops, scikit-learn and scipy. Each takes ``Codes`` and (N, K) classes and gives its values.
"""
