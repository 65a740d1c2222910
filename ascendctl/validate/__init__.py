"""Validation of manifests: `ascendctl.validate(source)`.

The public function has the name of this package, and Python gives whichever of the two it meets first to
`from ascendctl import validate`. So the package can be called, too, and does what the function does.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascendctl.validate.api import Source
    from ascendctl.validate.finding import Finding
    from ascendctl.validate.options import Options


class _Callable(ModuleType):
    def __call__(self, source: Source, *, options: Options | None = None) -> list[Finding]:
        """See `ascendctl.validate.api.validate`."""
        from ascendctl.validate.api import validate

        return validate(source, options=options)


sys.modules[__name__].__class__ = _Callable
