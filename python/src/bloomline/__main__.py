"""The command line: `bloomline COMMAND`, or `python -m bloomline COMMAND`."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line. The status is 1 after an error, which is one line; 130 after ^C."""
    try:
        # Imports take most of the time of a short command, and may be interrupted too.
        from .cli.program import run  # noqa: PLC0415

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        from .cli.console import say  # noqa: PLC0415

        how = "; run it again to resume" if sys.argv[1:2] == ["load"] else ""
        say(f"bloomline: stopped{how}", is_error=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
