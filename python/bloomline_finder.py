"""Lets Python find this package in a folder with the module of the server, bloomline.so.

`python -m` and programs look into their own folder first, and Python takes that file for an
extension module of the name. The file bloomline.pth imports this one whenever Python starts, and
forgets its name, since pytest warns of modules that were imported before its plugins.
"""

import os
import sys
from importlib.machinery import PathFinder


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        """Finds the package behind the module's file; nothing else."""
        if name != "bloomline":
            return None
        found = PathFinder.find_spec(name)
        if found is None or not str(found.origin).endswith("bloomline.so"):
            return None
        return PathFinder.find_spec(name, [os.path.dirname(__file__)])


sys.meta_path.insert(0, _Finder)
