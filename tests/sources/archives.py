"""Tar archives made by hand, with the members that a careful program would never write."""

from __future__ import annotations

import io
import tarfile

CPUINFO = b"processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD Ryzen 5 1600\n"


def tar_of(
    files: dict[str, bytes],
    *,
    symlinks: dict[str, str] | None = None,
    hardlinks: dict[str, str] | None = None,
    mode: str = "w:gz",
    format: int = tarfile.GNU_FORMAT,
) -> bytes:
    """An archive with these members, files first. Nothing is checked: names and links stay as they are given."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode, format=format) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            row = tarfile.TarInfo(name)
            row.size = len(content)
            tar.addfile(row, io.BytesIO(content))
        for kind, links in ((tarfile.SYMTYPE, symlinks), (tarfile.LNKTYPE, hardlinks)):
            for name, target in (links or {}).items():
                row = tarfile.TarInfo(name)
                row.type = kind
                row.linkname = target
                tar.addfile(row)
    return packed.getvalue()
