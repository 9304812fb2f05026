"""How `tailwave.graph` captures.

``core``, ``cupy`` and ``torch`` are the ways of capturing, each a captor (``captor``); the
``torch_`` files are parts of ``torch``. The rest is what they share: what a call's arguments are
(``tree``), what a function can change (``survey``), whether replays give what plain calls give
(``compare``), and why a function cannot be captured (``refusals``).
"""
