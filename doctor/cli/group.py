"""The command `amd-doctor` and its subcommands, each imported only when it is the one that was asked for."""

from __future__ import annotations

from importlib import import_module

import click

from doctor import __version__

#: Name, module and attribute, and what the list of commands says of it.
_COMMANDS: dict[str, tuple[str, str, str]] = {
    "check": ("doctor.cli.check", "check", "Say what is wrong or slow on this machine, and the command that fixes it."),
    "plan": ("doctor.cli.plan", "plan", "Print the install of PyTorch for this machine, with the way back."),
    "tune": ("doctor.cli.tune", "tune", "Find what makes this machine faster, by measuring it."),
    "topology": ("doctor.cli.topology", "topology", "Draw cores, caches and CPU numbers as a picture."),
    "env": ("doctor.cli.env", "env", "Show, check or clean an env file that tune wrote."),
    "run": ("doctor.cli.run", "run", "Start a command with a tuned environment and its CPU mask."),
    "compare": ("doctor.cli.compare", "compare", "Say what changed between two machines, or since it worked."),
    "report": ("doctor.cli.report", "report", "Make a report for an issue, without personal data."),
    "record": ("doctor.cli.record", "record", "Save the raw facts of this machine in a file for someone else."),
    "rules": ("doctor.cli.rules", "rules", "List the rules, or explain one."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name only, until one is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, _, short) in _COMMANDS.items()])


_EPILOG = """\b
Examples:
  amd-doctor check                     this machine
  amd-doctor check --from ticket.txt   what somebody pasted
  amd-doctor plan                      what to install here, and how
  amd-doctor tune --write-env          what makes it faster, measured
  amd-doctor topology                  which CPU numbers share a cache
"""


@click.group(
    cls=LazyGroup,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.version_option(__version__, "-V", "--version", prog_name="amd-doctor", message="%(prog)s %(version)s")
@click.pass_context
def amd_doctor(context: click.Context) -> None:
    """Says why PyTorch is broken or slow on an AMD machine, and exactly what to do about it.

    Nothing is sent anywhere, and nothing on the machine is changed.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
