"""What `doctor/inside/interpreter.py` answered, as types that the probes of python and torch share."""

from __future__ import annotations

import msgspec

from doctor.sources.base import Missing, Source

ORIGIN = "exercise:interpreter"


class Distribution(msgspec.Struct, frozen=True):
    name: str
    version: str | None = None
    location: str | None = None
    installer: str | None = None
    installed_at: str | None = None
    requires: tuple[str, ...] | None = None


class CondaRecord(msgspec.Struct, frozen=True):
    name: str
    version: str
    build: str = ""


class TorchFiles(msgspec.Struct, frozen=True):
    origin: str
    version_file: str | None = None
    libraries: tuple[str, ...] | None = None


class Interpreter(msgspec.Struct, frozen=True):
    """Fields of a newer script are passed over, those of an older one stay unknown."""

    version: str | None = None
    implementation: str | None = None
    bits: int | None = None
    machine: str | None = None
    free_threaded: bool | None = None
    executable: str | None = None
    prefix: str | None = None
    base_prefix: str | None = None
    venv: bool | None = None
    pyvenv: dict[str, str] | None = None
    externally_managed: bool | None = None
    torch: TorchFiles | None = None
    packages: tuple[Distribution, ...] | None = None
    conda: tuple[CondaRecord, ...] | None = None
    path: str | None = None
    chosen_by: str | None = None
    others_with_torch: tuple[str, ...] | None = None

    def package(self, name: str) -> Distribution | None:
        return next((package for package in self.packages or () if package.name == name), None)


def interpreter(source: Source) -> Interpreter | Missing:
    """The target as it told itself. Raises msgspec.ValidationError for an answer of another shape."""
    told = source.exercise("interpreter")
    return told if isinstance(told, Missing) else msgspec.convert(told, Interpreter)
