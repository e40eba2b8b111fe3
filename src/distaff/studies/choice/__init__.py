"""Which recipe and weight for my data? A short study without labels, its ranking and its page.

``grid`` says what is compared, ``plan`` how long, ``ranking`` what came out, ``page`` writes it, and
``choose`` does all of that in one call.
"""
