"""Conditions: the ``when:`` of a trigger, an expression in Jinja's syntax over a few known numbers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compactor.errors import PolicyError, Problem
from compactor.policy.wording import did_you_mean, listed

if TYPE_CHECKING:  # Jinja costs time to import, and a policy without triggers does not need it
    from jinja2 import nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

VARIABLES: Mapping[str, Mapping[str, str]] = {
    "turn_start": {
        "tokens": "tokens of the whole request: messages, system prompt and tool schemas, as `counter` counts",
        "message_count": "messages of the conversation, the system prompt counted",
        "threshold_tokens": "the policy's `threshold` in tokens",
        "context_length": "the window in tokens, less `window.output_reserve`",
        "protect_first_n": "the policy's `boundaries.protect_first_n`",
        "protect_last_n": "the policy's `boundaries.protect_last_n`",
        "compaction_count": "how often this conversation has been compacted",
    }
}
"""What a condition may use, by the trigger's ``at``: the one source for the check, the docs and the evaluation."""


_ALLOWED = frozenset(
    (
        *("Name", "Const", "List", "Tuple", "Compare", "Operand", "And", "Or", "Not", "CondExpr"),
        *("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Neg", "Pos"),
    )
)
"""The kinds of Jinja's nodes that a condition may be made of: none of them can run long, whatever the numbers are."""

_REFUSED: Mapping[str, str] = {
    "Pow": "the power operator **",
    "Concat": "the operator ~",
    "Filter": "a filter",
    "Test": "a test with 'is'",
    "Call": "a call",
    "Getattr": "a part of a value (a dot)",
    "Getitem": "a part of a value (brackets)",
    "Dict": "a mapping",
}
"""What the other kinds are to a reader."""

_MADE_OF = "a condition is made of names, numbers, texts, comparisons, and, or, not, in, + - * / // %"


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition; call it with a value for every variable that is known where it is asked."""

    source: str
    _evaluate: Callable[..., Any] = field(repr=False, compare=False)

    def __call__(self, variables: Mapping[str, Any]) -> bool:
        """Whether the condition holds. Raises PolicyError where it cannot be computed, such as for a division by 0."""
        try:
            return bool(self._evaluate(**variables))
        except Exception as error:
            raise _refusal(self.source, f"the condition cannot be computed: {error}") from error


def compile_condition(text: str, known: Mapping[str, str]) -> Condition:
    """Compile an expression that may use the ``known`` variables (name to description).

    Raises PolicyError where it is not an expression, uses something unknown, or could never be computed.
    """
    from jinja2 import TemplateError

    environment = _environment()
    try:
        expression = _parsed(environment, text)
        _check_names(text, expression, known)
        # Before it is compiled: Jinja computes what is constant while it compiles.
        for problem in _too_much(expression):
            raise _refusal(text, problem, _MADE_OF)
        evaluate = environment.compile_expression(text, undefined_to_none=False)
    except TemplateError as error:
        message = (error.message or "").replace("'end of template'", "end")
        raise _refusal(text, f"not an expression: {message}") from error
    except (RecursionError, MemoryError, SyntaxError):
        raise _refusal(text[:80], "not an expression: too long or nested too deeply") from None
    except ValueError as error:
        raise _refusal(text[:80], f"not an expression: {error}") from None
    _try_out(text, evaluate, known)
    return Condition(text, evaluate)


def _environment() -> "ImmutableSandboxedEnvironment":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    environment.globals.clear()  # `range` and the like are no help here, and would count as known names
    return environment


def _parsed(environment: "ImmutableSandboxedEnvironment", text: str) -> "nodes.Expr":
    from jinja2.parser import Parser

    return Parser(environment, text, state="variable").parse_expression()


def _nodes(expression: "nodes.Expr") -> "Iterator[nodes.Node]":
    from jinja2 import nodes

    yield expression  # find_all leaves out the node that it starts from
    yield from expression.find_all(nodes.Node)


def _check_names(text: str, expression: "nodes.Expr", known: Mapping[str, str]) -> None:
    from jinja2 import nodes

    unknown = sorted({node.name for node in _nodes(expression) if isinstance(node, nodes.Name)} - set(known))
    if unknown:
        plural = "s" if len(unknown) > 1 else ""
        raise _refusal(
            text,
            f"unknown variable{plural} {listed(unknown)}; known are {listed(known)}",
            next(filter(None, (did_you_mean(name, known) for name in unknown)), ""),
        )


def _too_much(expression: "nodes.Expr") -> Iterator[str]:
    """What is in an expression that a comparison of numbers does not need, and that could run long."""
    from jinja2 import nodes

    for node in _nodes(expression):
        kind = type(node).__name__
        if kind not in _ALLOWED:
            yield f"{_REFUSED.get(kind, kind.lower())} cannot be used in a condition"
        # A text times a number repeats it, and % fills it up, to any length.
        if isinstance(node, nodes.BinExpr) and _computes_with_others(node):
            yield f"the operator {node.operator} is for numbers, not for texts or lists"


def _computes_with_others(node: "nodes.BinExpr") -> bool:
    """Whether an operator is given something that is no number; and / or take everything."""
    from jinja2 import nodes

    return not (isinstance(node, (nodes.And, nodes.Or)) or (_is_number(node.left) and _is_number(node.right)))


def _is_number(node: "nodes.Expr") -> bool:
    """Whether the value can only be a number, or true or false."""
    from jinja2 import nodes

    match node:
        case nodes.Const(value=value):
            return isinstance(value, (int, float))
        case nodes.And() | nodes.Or():
            return _is_number(node.left) and _is_number(node.right)
        case nodes.CondExpr():
            return _is_number(node.expr1) and node.expr2 is not None and _is_number(node.expr2)
        case nodes.List() | nodes.Tuple():
            return False
        case _:
            return True


def _try_out(text: str, evaluate: Callable[..., Any], known: Mapping[str, str]) -> None:
    """Evaluate once with numbers, to refuse what no numbers could make work, such as comparing them with text."""
    from jinja2 import TemplateError

    try:
        bool(evaluate(**dict.fromkeys(known, 1)))
    except (TypeError, TemplateError) as error:
        raise _refusal(text, f"the condition cannot be computed: {error}") from error
    except (ArithmeticError, ValueError):
        pass  # depends on the numbers: others may do


def _refusal(text: str, message: str, hint: str = "") -> PolicyError:
    return PolicyError([Problem(f"{text!r}", "", message, hint)])
