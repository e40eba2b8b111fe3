"""The ground floor, private: what every room stands on, and knows nothing of any of them.

Errors, files written whole or not at all, functions bound to plain arguments, the grammar of texts such as
``linear:1:0.5:1000``, flags made from signatures, threads, memory, progress bars. ``distaff.DistaffError``
is all that users see of it. What belongs here is used by several rooms and would make sense in another
project.
"""
