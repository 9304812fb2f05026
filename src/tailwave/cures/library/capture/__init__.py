"""How `tailwave.graph` captures.

`core`, `cupy` and `torch` are the ways of capturing; the rest is what they have in common (what a
call's arguments are, what state a function changes, whether replays agree with plain calls), and
the `torch_` files are parts of `torch`.
"""
