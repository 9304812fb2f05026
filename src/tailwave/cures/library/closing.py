"""What ends with its `with`: closed on the way out, whatever happened inside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from tailwave.errors import TailwaveError


class Closing(ABC):
    """Something that is undone by `close`, by itself or at the end of its ``with``."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Undo it; a second time does nothing. Raises TailwaveError where that fails."""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        """Close it; an error from inside is not hidden by one of closing."""
        try:
            self.close()
        except TailwaveError:
            if error is None:
                raise
