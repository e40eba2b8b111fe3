"""Drawings of studies: ``Results`` and arguments in, a ``Figure`` or a table, or several by title, out.

Every public function that is imported here can be named under ``figures`` in a study file.
"""
