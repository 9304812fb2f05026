"""Optimizers that keep what they were made with."""

from __future__ import annotations

from collections.abc import Iterable


class Adam:
    """Adam."""

    def __init__(  # noqa: PLR0913  as torch's
        self,
        params: Iterable[object],
        lr: float = 1e-3,
        *,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        """Keep it."""
        self.param_groups = [{"params": list(params), "fused": fused, "lr": lr}]
        self.rest = (foreach, capturable, differentiable)


class AdamW(Adam):
    """Decays weights; has a constructor of its own, as torch's has."""

    def __init__(
        self, params: Iterable[object], lr: float = 1e-3, *, fused: bool | None = None
    ) -> None:
        """Keep it."""
        super().__init__(params, lr, fused=fused)


class SGD:
    """Of a release before its fused kernel."""

    def __init__(self, params: Iterable[object], lr: float = 1e-3) -> None:
        """Keep it."""
        self.param_groups: list[dict[str, object]] = [{"params": list(params), "lr": lr}]
