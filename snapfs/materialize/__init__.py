"""Writing a wanted tree onto a live one: ``apply.materialize``, with what it takes in ``wanted``.

What holds: nothing outside the target is touched, since every name is looked up in an open directory and
no symlink is followed; a file that cannot be finished never stands under its name; directories get their
times last; a dry run takes the same decisions; memory is bounded by arrays of a few bytes a directory and
the jobs of one window.

Nothing is imported here: a writing process needs a third of these modules, and starts as soon.
"""
