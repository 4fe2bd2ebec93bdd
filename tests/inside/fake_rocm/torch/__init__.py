"""The PyTorch of the tests, as a ROCm build of it would look: another version file, and GPUs that `fake_hip` makes.

Everything but the version file comes from the real package, which lies further behind on the path.
"""

import os as _os
import sys as _sys

_own = _os.path.dirname(__file__)
_folders = (_os.path.join(entry, "torch") for entry in _sys.path)
_real = next(path for path in _folders if _os.path.isdir(_os.path.join(path, "_C")) or _os.path.isdir(_os.path.join(path, "nn")))
__path__ = [_own, _real]
__file__ = _os.path.join(_real, "__init__.py")
with open(__file__, encoding="utf-8") as _file:
    exec(compile(_file.read(), __file__, "exec"))

import fake_hip as _fake_hip

_fake_hip.install()
