"""References: what each model of GPU was measured at, shipped here as one JSON file a model.

A user's own references come before the shipped ones.
"""
