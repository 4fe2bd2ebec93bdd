"""The language in which Windows shows its own windows to this user."""

from __future__ import annotations

import sys

_LONGEST_NAME = 85  # LOCALE_NAME_MAX_LENGTH of winnls.h


def ui_language() -> str | None:
    """`zh-CN`, as GetUserDefaultUILanguage and LCIDToLocaleName tell it; None on another system, or on failure."""
    if sys.platform != "win32":
        return None
    import ctypes

    try:
        kernel32 = ctypes.windll.kernel32
        number = kernel32.GetUserDefaultUILanguage()
        name = ctypes.create_unicode_buffer(_LONGEST_NAME)
        length = kernel32.LCIDToLocaleName(number, name, _LONGEST_NAME, 0)
    except (OSError, AttributeError):
        return None
    return name.value if length > 0 else None
