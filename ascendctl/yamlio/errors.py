"""The one error that reading raises."""

from __future__ import annotations


class ReadError(Exception):
    """An input that cannot be read. Line and column count from 1; 0 = the error concerns the whole input."""

    def __init__(self, name: str, message: str, hint: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.name, self.message, self.hint, self.line, self.column = name, message, hint, line, column

    def __str__(self) -> str:
        where = self.name + (f":{self.line}:{self.column}" if self.line else "")
        return f"{where}: {self.message}" + (f" ({self.hint})" if self.hint else "")
