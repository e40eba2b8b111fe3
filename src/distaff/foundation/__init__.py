"""Private helpers that every room uses, and that do not depend on any room.

Errors, atomic writes, functions bound to plain arguments, the grammar of texts such as
``linear:1:0.5:1000``, flags generated from signatures, threads, memory, progress bars. Users only see
``distaff.DistaffError``. Code belongs here if several rooms use it and it would make sense in another
project.
"""
