"""`bloomline plan`: the program of `make plan`, which platform wheels bring."""

from __future__ import annotations

import os
from pathlib import Path

from ..creation import ERROR_RATE
from ..errors import BloomlineError
from .explain import naming


def program() -> Path:
    """Returns the program: that of `BLOOMLINE_PLAN`, or the one in this wheel.

    Raises:
        BloomlineError: this is the pure wheel, which has none, or `BLOOMLINE_PLAN` names none.
    """
    named = os.environ.get("BLOOMLINE_PLAN")
    found = Path(named) if named else Path(__file__).parents[1] / "bloomline-plan"
    if named and not found.is_file():
        raise BloomlineError(f"BLOOMLINE_PLAN names {named}, which is no file")
    if not found.is_file():
        raise BloomlineError(
            "this wheel has no plan for this platform: use docs/calculator, or `make plan`"
        )
    return found


def main(arguments: list[str]) -> int:
    """Replaces this process by the program, whose arguments and output are its own.

    Without --error it computes with that of `bloomline load`.
    """
    found = program()
    with naming(str(found), "started"):
        os.execv(found, [str(found), "--error", str(ERROR_RATE), *arguments])
