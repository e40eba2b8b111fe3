"""Choose a recipe and a weight for data without labels: a short study, its ranking and its page.

``grid`` lists the settings to compare, ``plan`` fits them into the time, ``ranking`` ranks them, ``page``
writes the page, and ``choose`` does all of that in one call.
"""
