"""The experiment: a program as it is and with cures, interleaved, until noise is told from gain.

``trial`` is the flow. It knows the program only through a ``Runner``, so that a scripted one can
take its place; ``runner`` starts real processes, and ``supervisor`` outlives none of them.
"""
