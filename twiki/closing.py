"""Things that are closed at the end of a ``with``."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A context manager that gives itself, and closes itself however the block ends."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held; more than once does no harm."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
