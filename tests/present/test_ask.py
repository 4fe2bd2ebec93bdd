"""What the author of a text is asked for, and where texts contradict each other."""

from __future__ import annotations

import re
from typing import Any

from doctor.diagnosis.model import Diagnosis, Finding, Fix, Needed, Undecided
from doctor.machine.model import Contradiction, Machine, SourceRow, Torch
from doctor.present.ask import COMMAND, message, wanted
from doctor.present.checked import Checked
from doctor.present.contradictions import contradictions_lines
from doctor.present.screen import screen
from doctor.present.terminal import Look, plain

LOOK = Look(columns=80)
PASTED = Machine(sources=(SourceRow(kind="collect_env"),), torch=Torch(installed=True))


def undecided(rule: str, *facts: str) -> Undecided:
    return Undecided(rule, tuple(Needed(fact, "not-in-source") for fact in facts))


def checked(*rows: Undecided, machine: Machine = PASTED, **more: Any) -> Checked:
    severities = {"bad": "error", "worse": "error", "slow": "warning", "note": "info"}
    diagnosis = Diagnosis(undecided=rows, findings=more.pop("findings", ()))
    return Checked(machine=machine, document={}, diagnosis=diagnosis, given="a.txt", severities=severities, **more)


def test_what_decides_more_and_worse_rules_comes_first() -> None:
    rows = (
        undecided("note", "env", "memory.modules", "power.source"),
        undecided("slow", "memory.channels", "env.OMP_NUM_THREADS"),
        undecided("bad", "gpus", "gpus.gfx"),
        undecided("worse", "gpus.kernel_driver"),
    )
    found = wanted(checked(*rows))
    assert [(one.fact, one.rules, one.errors) for one in found] == [("gpus", 2, 2), ("env", 2, 0), ("memory", 2, 0)]


def test_only_what_a_machine_tells_is_asked_for_by_command() -> None:
    rows = (undecided("bad", "intent.backend", "derived.gpu.main", "measurements.gemm.sgemm_gflops"),)
    assert wanted(checked(*rows)) == ()
    assert "nothing has to be added" in plain(message(checked(*rows)), LOOK)
    text = plain(message(checked(undecided("bad", "env", "intent.backend"))), LOOK)
    assert "what is PyTorch meant to compute on" in text


def test_the_longest_name_that_fits_counts() -> None:
    rows = (undecided("bad", "torch.num_threads"), undecided("worse", "torch.version"), undecided("slow", "limits"))
    assert {one.fact for one in wanted(checked(*rows))} == {"torch.num_threads", "torch", "limits"}


def test_the_message_is_markdown_with_one_command_and_nothing_of_the_machine() -> None:
    machine = Machine(sources=(SourceRow(kind="collect_env", name="a`b<script>"),))
    text = plain(message(checked(undecided("bad", "env", "gpus"), undecided("slow", "nodes"), machine=machine)), LOOK)
    assert text.count(COMMAND) == 1 and text.count("```") == 2 and "script" not in text
    assert text.count("\n- ") == 3
    assert text.startswith("Thank you") and "please" in text


def test_the_screen_lists_three_facts_and_the_command() -> None:
    rows = (undecided("bad", "env", "gpus"), undecided("slow", "nodes", "limits.cpu_budget"))
    lines = plain(screen(checked(*rows), LOOK), LOOK).splitlines()
    at = lines.index("What would help most:")
    numbered = [line for line in lines[at + 1 :] if re.match(r"  \d\. ", line)]
    assert [line[:4] for line in numbered] == ["  1.", "  2.", "  3."]
    assert "1 rule, 1 of them about errors" in numbered[0]
    assert lines[-2].strip() == COMMAND


def test_the_command_stands_on_the_screen_once_also_beside_a_fix() -> None:
    fix = Finding("some-rule", "error", "cpu", None, "t", "e", "w", Fix("Do it.", ("export A=1",)))
    text = plain(screen(checked(undecided("bad", "env"), findings=(fix,)), LOOK), LOOK)
    assert text.count(COMMAND) == 1 and text.splitlines()[-2].strip() == "export A=1"


def test_a_machine_that_was_looked_at_is_not_asked_for_itself() -> None:
    live = Machine(sources=(SourceRow(kind="live"),), torch=Torch(installed=True))
    text = plain(screen(checked(undecided("bad", "env"), machine=live), LOOK), LOOK)
    assert COMMAND not in text and "What would help most" in text


def rows(count: int) -> tuple[Contradiction, ...]:
    return tuple(
        Contradiction(fact=f"cpu.fact{at}", kept="1", kept_from="lscpu", dropped="2", dropped_from="collect_env")
        for at in range(count)
    )


def test_contradictions_are_shown_with_both_sources() -> None:
    text = plain(contradictions_lines(checked(machine=Machine(contradictions=rows(1))), LOOK, verbose=False), LOOK)
    assert "! cpu.fact0 is 1 (lscpu), not 2 (collect_env)." in text
    assert contradictions_lines(checked(), LOOK, verbose=True) == []


def test_many_contradictions_are_cut_short_unless_all_are_wanted() -> None:
    many = checked(machine=Machine(contradictions=rows(9)))
    short, long = (plain(contradictions_lines(many, LOOK, verbose=verbose), LOOK) for verbose in (False, True))
    assert short.count("! cpu") == 6 and "3 more" in short
    assert long.count("! cpu") == 9 and "more;" not in long
