"""Conditions of rules: Python syntax over dotted facts, compiled from a white list, judged in three values.

    condition  ::=  condition and/or condition  |  not condition  |  value < value < …  |  value in value
                 |  fact  |  True  |  False
    value      ::=  fact  |  number  |  "word"  |  value + - * / value  |  -value
                 |  [value, …]                                (only behind `in`, `not in`; `[]` also behind == and !=)
    fact       ::=  torch.num_threads  |  env.OMP_NUM_THREADS  |  derived.area.field  |  it.field

Evaluation is total: whatever the machine holds, the answer is true, false or `Unknown`.
- `false and unknown` is false, `true or unknown` is true, in whatever order they stand; `not unknown` is unknown; a
  chain `a < b < c` is `a < b and b < c`. Anything else with an unknown fact is unknown, and says which facts it missed.
- A number is never above, below or equal to a word, and words have no order: `limits.cgroup.quota_cpus >= 2` is false
  where the quota is "none", and so `not limits.cgroup.quota_cpus < 2` is true. Versions are ordered in `doctor.derive`.
- Arithmetic with a word, a division by zero and a result beyond floating point give the word "none".
- A variable missing from a present `env`, and a name missing from present `packages`, are the word "none", and so is
  every field of such a package; they are unknown where only some names were told (a row of `unknowns` is about the
  map). Package names may be written with underscores: `packages.pytorch_triton_rocm`.
- A fact that stands as a condition must be a yes or no; where it is not, the condition is unknown.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from doctor.diagnosis.truth import Truth, Unknown, calculated, contains, equal, is_number, joined, negated, ordered
from doctor.machine.unknowns import is_partial

MAX_LENGTH = 1000
MAX_DEPTH = 30

#: Maps whose missing names are known to be absent.
COMPLETE_MAPS = ("env", "packages")


class BadExpression(Exception):
    """A text that is no condition. The message is one sentence."""


class Scope(msgspec.Struct, frozen=True):
    """What a condition reads: the machine document, its derived facts and, in a `for_each`, one item."""

    machine: Any
    derived: Any = None
    it: Any = None


class Expression(msgspec.Struct, frozen=True):
    """A compiled condition, and what it reads. `truths` stand as conditions themselves, `numbers` are ordered or
    calculated with, `collections` stand behind `in`."""

    text: str
    judge: Callable[[Scope], Truth]
    facts: tuple[str, ...]
    truths: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()


def compile_expression(text: str) -> Expression:
    """Raises BadExpression, and nothing else, for every text that is no condition."""
    if len(text) > MAX_LENGTH:
        raise BadExpression(f"longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise BadExpression(f"not an expression: {getattr(error, 'msg', None) or error}") from error
    compiler = _Compiler()
    judge = compiler.condition(tree.body, 0)
    found = compiler.found
    return Expression(
        text=text,
        judge=judge,
        facts=_unique(found["facts"]),
        truths=_unique(found["truths"]),
        numbers=_unique(found["numbers"]),
        collections=_unique(found["collections"]),
    )


def look_up(scope: Scope, path: tuple[str, ...]) -> Any:
    """The value of a fact; `Unknown` where the machine does not tell."""
    value: Any = getattr(scope, path[0]) if path[0] in ("derived", "it") else _member(scope.machine, path[0])
    for depth, name in enumerate(path[1:], start=1):
        if depth == 1 and path[0] in COMPLETE_MAPS and isinstance(value, dict):
            value = _package(value, name) if path[0] == "packages" else value.get(name)
            if value is None and not is_partial(scope.machine, path[0]):
                return "none"
        elif value is not None:
            value = _member(value, name)
    return Unknown((".".join(path),)) if value is None else value


def _member(owner: Any, name: str) -> Any:
    if isinstance(owner, msgspec.Struct):
        return getattr(owner, name) if name in owner.__struct_fields__ else None
    return owner.get(name) if isinstance(owner, dict) else None


def _package(packages: dict[str, Any], name: str) -> Any:
    """Package names differ in case and in `-`, `_`, `.` only by spelling."""
    if name in packages:
        return packages[name]
    wanted = _one_spelling(name)
    return next((package for key, package in packages.items() if _one_spelling(key) == wanted), None)


def _one_spelling(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


_Value: TypeAlias = Callable[[Scope], Any]
_Condition: TypeAlias = Callable[[Scope], Truth]

_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class _Compiler:
    """Turns syntax into closures, and notes the facts that it meets and how they are used."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {"facts": [], "truths": [], "numbers": [], "collections": []}

    def condition(self, node: ast.expr, depth: int) -> _Condition:
        _bound(depth)
        if isinstance(node, ast.BoolOp):
            parts = [self.condition(part, depth + 1) for part in node.values]
            decisive = isinstance(node.op, ast.Or)
            return lambda scope: joined((part(scope) for part in parts), decisive)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand, depth + 1)
            return lambda scope: negated(inner(scope))
        if isinstance(node, ast.Compare):
            return self.comparison(node, depth)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            constant = node.value
            return lambda scope: constant
        if isinstance(node, ast.Name | ast.Attribute):
            path = self.fact(node, "truths")
            return lambda scope: _as_truth(look_up(scope, path), path)
        raise BadExpression(f"{_shown(node)} is not a condition")

    def comparison(self, node: ast.Compare, depth: int) -> _Condition:
        operands = [node.left, *node.comparators]
        links = [
            self.link(left, kind, right, depth + 1)
            for left, kind, right in zip(operands, node.ops, operands[1:], strict=False)
        ]
        return links[0] if len(links) == 1 else lambda scope: joined((link(scope) for link in links), False)

    def link(self, left: ast.expr, kind: ast.cmpop, right: ast.expr, depth: int) -> _Condition:
        if isinstance(kind, ast.In | ast.NotIn):
            item, inside = self.value(left, depth), self.collection(right, depth)
            if isinstance(kind, ast.In):
                return lambda scope: contains(inside(scope), item(scope))
            return lambda scope: negated(contains(inside(scope), item(scope)))
        if isinstance(kind, ast.Eq | ast.NotEq):
            one, other = self.equal_side(left, depth), self.equal_side(right, depth)
            if isinstance(kind, ast.Eq):
                return lambda scope: equal(one(scope), other(scope))
            return lambda scope: negated(equal(one(scope), other(scope)))
        if type(kind) in _ORDER:
            compare = _ORDER[type(kind)]
            low, high = self.number(left, depth), self.number(right, depth)
            return lambda scope: ordered(compare, low(scope), high(scope))
        raise BadExpression("`is` is not allowed in a rule: compare with ==")

    def equal_side(self, node: ast.expr, depth: int) -> _Value:
        if isinstance(node, ast.List) and not node.elts:
            return lambda scope: ()
        return self.value(node, depth)

    def collection(self, node: ast.expr, depth: int) -> _Value:
        _bound(depth)
        if isinstance(node, ast.List):
            items = [self.value(item, depth + 1) for item in node.elts]
            return lambda scope: tuple(item(scope) for item in items)
        path = self.fact(node, "collections")
        return lambda scope: look_up(scope, path)

    def number(self, node: ast.expr, depth: int) -> _Value:
        if isinstance(node, ast.Constant) and not is_number(node.value):
            raise BadExpression(f"{_shown(node)} has no order; a version is compared in doctor.derive")
        if isinstance(node, ast.Name | ast.Attribute):
            path = self.fact(node, "numbers")
            return lambda scope: look_up(scope, path)
        return self.value(node, depth)

    def value(self, node: ast.expr, depth: int) -> _Value:
        _bound(depth)
        if isinstance(node, ast.Name | ast.Attribute):
            path = self.fact(node)
            return lambda scope: look_up(scope, path)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
            constant = node.value
            return lambda scope: constant
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.number(node.operand, depth + 1)
            return lambda scope: calculated(operator.sub, 0, inner(scope))
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            calculate = _ARITHMETIC[type(node.op)]
            left, right = self.number(node.left, depth + 1), self.number(node.right, depth + 1)
            return lambda scope: calculated(calculate, left(scope), right(scope))
        raise BadExpression(f"{_shown(node)} is not allowed in a rule")

    def fact(self, node: ast.expr, used_as: str | None = None) -> tuple[str, ...]:
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            raise BadExpression(f"{_shown(node)} is not a dotted fact")
        path = (node.id, *reversed(names))
        if any(name.startswith("_") for name in path) or len(path) > MAX_DEPTH:
            raise BadExpression(f"{'.'.join(path)[:60]} is not a fact")
        dotted = ".".join(path)
        self.found["facts"].append(dotted)
        if used_as:
            self.found[used_as].append(dotted)
        return path


def _bound(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadExpression(f"nested deeper than {MAX_DEPTH} levels")


def _shown(node: ast.AST) -> str:
    return repr(node.value)[:40] if isinstance(node, ast.Constant) else f"a {type(node).__name__} expression"


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _as_truth(value: Any, path: tuple[str, ...]) -> Truth:
    return value if isinstance(value, bool | Unknown) else Unknown((".".join(path),))
