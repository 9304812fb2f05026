"""Which of a program's processes this one is.

A program is often many processes: a launcher and its ranks, a loader's workers, a compiler's. The
*main* ones do its work: the process that the trial started, or the first rank under a launcher such
as torchrun. Each process leaves its number in the environment; one that finds another's there was
started by it, and is a helper, unless it is a first rank whose parent was none.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

ROOT = "TAILWAVE_TRIAL_ROOT"
RANK = "RANK"  # as torchrun, DeepSpeed and accelerate set it
_FIRST = "0"


def claim(environment: MutableMapping[str, str]) -> bool:
    """Tell whether this process is a main one, and let those that it starts know that it exists."""
    own, rank = str(os.getpid()), environment.get(RANK, "")
    parent, _, parent_rank = environment.get(ROOT, "").partition(":")
    # Its own number: the process has replaced itself by exec.
    is_root = parent in {"", own}
    main = rank in {"", _FIRST} if is_root else rank == _FIRST and not parent_rank
    environment[ROOT] = f"{own}:{rank}"
    return main
