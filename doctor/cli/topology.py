"""`amd-doctor topology`: which CPU numbers share a core and a cache, as a picture."""

from __future__ import annotations

import sys

import click

from doctor.cli.inputs import from_file, topology_of_this_machine
from doctor.cli.language import speaks
from doctor.derive.facts import complete

_EPILOG = """\b
Examples:
  amd-doctor topology
  amd-doctor topology --from machine.json
  amd-doctor topology --json | jq '.clusters[0].cpus'
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--from",
    "from_path",
    metavar="FILE",
    help="Draw a saved machine: a document, a recording, or text that somebody pasted; - reads stdin.",
)
@click.option("--ascii", "ascii_only", is_flag=True, help="Use no other characters than ASCII.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@speaks
def topology(from_path: str | None, ascii_only: bool, as_json: bool) -> int:
    """Draw the cores, which of them share an L3 cache (a CCX), and their CPU numbers.

    CPU numbers are what taskset, OMP_PLACES and cpusets speak of. Those that this process may not use are marked.
    """
    given = from_file(from_path) if from_path is not None else topology_of_this_machine()
    machine = complete(given.collected.machine)
    from doctor.present.terminal import look_of, write, write_text

    if as_json:
        from doctor.present.check_json import json_text
        from doctor.present.topology_json import topology_document

        write_text(json_text(topology_document(machine)), sys.stdout)
        return 0
    from doctor.present.topology_picture import topology_lines

    look = look_of(sys.stdout, ascii_only=ascii_only)
    write(topology_lines(machine, look), look)
    return 0
