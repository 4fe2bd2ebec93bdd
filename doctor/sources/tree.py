"""A source that answers from a tree of `proc/` and `sys/`, in a folder or in a tar, as hwloc and util-linux make them.

A tar is read once into memory and never extracted. In a folder only what is asked for is opened, and nothing but
regular files. Links are followed inside the tree only; what leads out of it is ignored and told in `notes`.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import BinaryIO, Protocol

from doctor.sources.base import Access, Json, Missing, Origin, Reply
from doctor.sources.recording import FILE_CAP_BYTES, listings
from doctor.sources.tarstream import BadTar, Member, tar_members
from doctor.sources.tree_folder import FolderFiles, tree_root
from doctor.sources.tree_paths import SIGNS, Leaves, leaves, resolve, split_root
from doctor.sources.unpack import BadPacking, unpacking

_NOT_HERE = Missing("not-in-source")


class BadTree(Exception):
    """No tree of `proc/` and `sys/` that can be read. The message is one sentence, without the file's name."""


class TreeFiles(Protocol):
    """The files of a tree by absolute path. A path has been resolved, but for `link`."""

    def link(self, path: str) -> str | None: ...

    def data(self, path: str) -> bytes | None: ...

    def names(self, path: str) -> tuple[str, ...] | None: ...


class TreeSource:
    """Answers files and folders; everything else is not in such a source."""

    def __init__(self, files: TreeFiles, name: str, notes: tuple[str, ...] = ()) -> None:
        self._files = files
        self._origin = Origin("tree", name, "linux")
        self._notes = list(notes)

    @classmethod
    def from_tar(cls, tar: Path | bytes | BinaryIO, name: str) -> TreeSource:
        """The tree in a tar, compressed or not. Raises BadTree, OSError."""
        if isinstance(tar, Path):
            with tar.open("rb") as opened:
                return cls.from_tar(opened, name)
        raw: BinaryIO = io.BytesIO(tar) if isinstance(tar, bytes) else tar
        packed_bytes = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        archive = _Archive()
        try:
            for member in tar_members(unpacking(raw, packed_bytes), _is_wanted, FILE_CAP_BYTES):
                archive.add(member)
        except (BadTar, BadPacking) as error:
            raise BadTree(str(error)) from error
        files, notes = archive.machine()
        return cls(files, name, notes)

    @classmethod
    def from_folder(cls, folder: Path, name: str) -> TreeSource:
        """The tree in a folder, at its top or a few levels below. Raises BadTree."""
        try:
            root = tree_root(folder)
        except ValueError as error:
            raise BadTree(str(error)) from error
        if root is None:
            raise BadTree("no proc/ or sys/ of a machine in it")
        return cls(FolderFiles(root), name)

    @property
    def origin(self) -> Origin:
        return self._origin

    @property
    def notes(self) -> tuple[str, ...]:
        """What was ignored so far, one sentence each."""
        return tuple(self._notes)

    def data(self, path: str) -> bytes | Missing:
        real = self._resolved(path)
        content = None if real is None else self._files.data(real)
        return _NOT_HERE if content is None else content

    def text(self, path: str) -> str | Missing:
        content = self.data(path)
        return content if isinstance(content, Missing) else content.decode("utf-8", "replace")

    def names(self, path: str) -> tuple[str, ...] | Missing:
        real = self._resolved(path)
        found = None if real is None else self._files.names(real)
        return _NOT_HERE if found is None else found

    def _resolved(self, path: str) -> str | None:
        try:
            return resolve(path, self._files.link)
        except Leaves as error:
            note = f"ignored a link that leaves the folder, or runs in a circle: {printable(str(error))}"
            if note not in self._notes:
                self._notes.append(note)
            return None

    def access(self, path: str) -> Access | Missing:
        return _NOT_HERE

    def command(self, name: str) -> Reply | Missing:
        return _NOT_HERE

    def environment(self) -> Mapping[str, str] | Missing:
        return _NOT_HERE

    def registry(self, key: str, value: str) -> str | int | Missing:
        return _NOT_HERE

    def registry_keys(self, key: str) -> tuple[str, ...] | Missing:
        return _NOT_HERE

    def api(self, name: str) -> Json | Missing:
        return _NOT_HERE

    def exercise(self, name: str) -> Json | Missing:
        return _NOT_HERE


class ArchiveFiles:
    """The files of one tree in memory, by absolute path."""

    def __init__(self, files: Mapping[str, bytes], links: Mapping[str, str], folders: Collection[str]) -> None:
        self._files = files
        self._links = links
        self._folders = folders
        self._listings: dict[str, tuple[str, ...]] | None = None

    def link(self, path: str) -> str | None:
        return self._links.get(path)

    def data(self, path: str) -> bytes | None:
        return self._files.get(path)

    def names(self, path: str) -> tuple[str, ...] | None:
        if self._listings is None:
            self._listings = listings([*self._files, *self._links, *self._folders])
        return self._listings.get(path, () if path in self._folders else None)


class _Archive:
    """The members of an archive, sorted by the root of the tree that they belong to."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, bytes]] = {}
        self._links: dict[str, dict[str, str]] = {}
        self._folders: dict[str, set[str]] = {}
        self._outside: list[str] = []

    def add(self, member: Member) -> None:
        if leaves(member.name):
            self._outside.append(member.name)
            return
        place = split_root(member.name)
        if place is None:
            return
        root, path = place[0], "/" + place[1]
        files, links = self._files.setdefault(root, {}), self._links.setdefault(root, {})
        folders = self._folders.setdefault(root, set())
        if member.kind == "folder":
            folders.add(path)
            return
        files.pop(path, None)
        links.pop(path, None)
        if member.kind == "file":
            files[path] = member.data
        elif member.kind == "symlink":
            links[path] = member.link
        elif member.kind == "hardlink":
            if leaves(member.link):
                self._outside.append(f"{member.name} -> {member.link}")
                return
            target = split_root(member.link)
            content = self._files.get(target[0], {}).get("/" + target[1]) if target else None
            if content is not None:
                files[path] = content

    def machine(self) -> tuple[ArchiveFiles, tuple[str, ...]]:
        """The one tree of a machine in the archive, and notes. Raises BadTree where there is none, or several."""
        root = self._root()
        files, links = self._files[root], self._links[root]
        for path in list(links):
            try:
                resolve(path, links.get)
            except Leaves:
                self._outside.append(f"{path.lstrip('/')} -> {links.pop(path)}")
        return ArchiveFiles(files, links, self._folders[root]), self._notes()

    def _root(self) -> str:
        signs = tuple("/" + sign for sign in SIGNS)
        roots = [
            root
            for root, files in self._files.items()
            if any(path.startswith(signs) for path in (*files, *self._links[root]))
        ]
        if not roots:
            raise BadTree("no proc/ or sys/ of a machine in it")
        least = min(_depth(root) for root in roots)
        best = sorted(root for root in roots if _depth(root) == least)
        if len(best) > 1:
            raise BadTree(f"it holds {len(best)} machines: {', '.join(map(printable, best[:3]))}; give one of them")
        return best[0]

    def _notes(self) -> tuple[str, ...]:
        count = len(self._outside)
        if not count:
            return ()
        first = printable(self._outside[0])
        return (f"ignored {count} member{'s' * (count > 1)} that leave{'s' * (count == 1)} the archive: {first}",)


def _is_wanted(name: str) -> bool:
    return split_root(name) is not None


def _depth(root: str) -> int:
    return root.count("/") + bool(root)


def printable(text: str) -> str:
    """A name from a file for one line of a terminal: no control characters, at most 80 characters."""
    return "".join(char if char.isprintable() else "?" for char in text[:80])
