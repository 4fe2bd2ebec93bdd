"""`amd-doctor rules`: what the doctor knows to look for, and why."""

from __future__ import annotations

import sys
from difflib import get_close_matches

import click

from doctor.cli.language import speaks
from doctor.diagnosis.explain import explained
from doctor.diagnosis.model import AREAS
from doctor.diagnosis.rules import RuleSet, load_rules
from doctor.knowledge.folk import folk_table
from doctor.present.language import language

#: What stands in the place of a rule's id for the advice that is passed on.
FOLK = "folk"

_EPILOG = """\b
Examples:
  amd-doctor rules                    every rule
  amd-doctor rules memory             the rules of one area
  amd-doctor rules duplicate-openmp   one rule: when it fires, why, and what to do
  amd-doctor rules folk               advice that is passed on, and is not right
  amd-doctor rules folk-core-pinning  one piece of it: why not, and what to do instead
  amd-doctor rules --json | jq -r '.rules[].id'
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="[RULE|AREA|folk]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Use no other characters than ASCII.")
@speaks
def rules(name: str | None, as_json: bool, ascii_only: bool) -> int:
    """List the rules, or explain one; or the advice to which they say no.

    A rule that lacks a fact says so, and does not guess: amd-doctor check counts it as undecided.
    """
    if name is not None and (name == FOLK or name.startswith(f"{FOLK}-")):
        return _folk(name, as_json=as_json, ascii_only=ascii_only)
    rule_set = load_rules()
    for crash in rule_set.broken:
        click.echo(f"amd-doctor: this rule cannot be read: {crash.detail}", err=True)
    if name is not None:
        _refuse_unknown(name, rule_set)
    chosen = [rule for rule in rule_set.rules if name is None or name in (rule.id, rule.area)]
    described = [explained(rule, rule_set.rules, language()) for rule in chosen]
    from doctor.present.rules_list import rule_lines, rules_document, rules_lines
    from doctor.present.terminal import look_of, write, write_text

    if as_json:
        from doctor.present.check_json import json_text

        write_text(json_text(rules_document(described)), sys.stdout)
        return 0
    look = look_of(sys.stdout, ascii_only=ascii_only)
    one = name is not None and name not in AREAS
    write(rule_lines(described[0], look) if one else rules_lines(described, look), look)
    return 0


def _folk(name: str, *, as_json: bool, ascii_only: bool) -> int:
    """Folk advice, all of it or one claim. Raises UsageError for a claim that is not in the table."""
    from doctor.present.folk_list import claim_lines, folk_document, folk_lines
    from doctor.present.terminal import look_of, write, write_text

    table = folk_table()
    chosen = [claim for claim in table.claims if name in (FOLK, claim.id)]
    if not chosen:
        close = get_close_matches(name.lower(), [claim.id for claim in table.claims], n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(close)}?" if close else " amd-doctor rules folk lists them."
        raise click.UsageError(f"there is no folk advice {name!r}.{hint}")
    if as_json:
        from doctor.present.check_json import json_text

        write_text(json_text(folk_document(table, chosen)), sys.stdout)
        return 0
    look = look_of(sys.stdout, ascii_only=ascii_only)
    write(folk_lines(table, look) if name == FOLK else claim_lines(table, chosen[0], look), look)
    return 0


def _refuse_unknown(name: str, rule_set: RuleSet) -> None:
    """Raises UsageError for a name that is no rule and no area."""
    if any(crash.part == f"rule:{name}" for crash in rule_set.broken):
        raise click.UsageError(f"the file of the rule {name} cannot be read.")
    known = [*AREAS, FOLK, *(rule.id for rule in rule_set.rules)]
    if name not in known:
        close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(close)}?" if close else " amd-doctor rules lists them."
        raise click.UsageError(f"there is no rule or area {name!r}.{hint}")
