"""Puts the module and the program of `bloomline plan` into wheels of a platform.

`scripts/wheel.sh` sets three variables: `BLOOMLINE_WHEEL_PLATFORM` is the tag of the platform,
`BLOOMLINE_WHEEL_MODULE` and `BLOOMLINE_WHEEL_PLAN` are the files. Without the first the wheel is
pure: it suits every platform, and has neither.
"""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface):
    """The hook that pyproject.toml names."""

    def initialize(self, version, build_data):
        """Adds the files and the tag."""
        platform = os.environ.get("BLOOMLINE_WHEEL_PLATFORM")
        if not platform or version == "editable":
            return
        build_data["pure_python"] = False
        # Neither file depends on the version of Python.
        build_data["tag"] = f"py3-none-{platform}"
        included = build_data["force_include"]
        included[os.environ["BLOOMLINE_WHEEL_MODULE"]] = "bloomline/bloomline.so"
        included[os.environ["BLOOMLINE_WHEEL_PLAN"]] = "bloomline/bloomline-plan"
        # Of the crates in both files.
        name = "THIRD-PARTY-LICENSES.txt"
        included[os.path.join(self.root, "../packaging", name)] = f"bloomline/{name}"
