"""The pure wheel lacks the module and the plan, and reports each in one line."""

import subprocess
import sys

import bloomline

assert "site-packages" in bloomline.__file__, bloomline.__file__
for command, expected in [("path", "there is no module"), ("plan", "no plan for this platform")]:
    words = [sys.executable, "-m", "bloomline", command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and expected in done.stderr, done
    assert len(done.stderr.splitlines()) == 1
