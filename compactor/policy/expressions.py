"""Conditions: the ``when:`` of a trigger, an expression in Jinja's syntax over a few known numbers."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compactor.errors import PolicyError, Problem
from compactor.policy.wording import did_you_mean, listed

if TYPE_CHECKING:  # Jinja costs time to import, and a policy without triggers does not need it
    from jinja2 import nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_BEFORE_ANY_CALL: Mapping[str, str] = {
    "tokens": "tokens of the whole request, messages, system prompt and tool schemas: what the provider reported for "
    "the last one and what was added since; where nothing was reported, as `counter` counts",
    "estimated_tokens": "the same as `counter` counts alone, scaled by what reports have taught about the model",
    "reported_tokens": "what the provider reported for the last request; 0 where it did not, or before a compaction",
    "new_tokens": "tokens that were added since the last compaction; all of them before the first",
    "message_count": "messages of the conversation, the system prompt counted",
    "images": "images in the conversation",
    "media_bytes": "bytes of the images, sounds and files that stand in the messages themselves",
    "bytes": "bytes of the messages as JSON, media included: the size of the request's body",
    "threshold_tokens": "the policy's `threshold` in tokens",
    "target_tokens": "the policy's `target` in tokens; 0 where it has none",
    "context_length": "the window in tokens, less `window.output_reserve`",
    "protect_first_n": "the policy's `boundaries.protect_first_n`",
    "protect_last_n": "the policy's `boundaries.protect_last_n`",
    "compaction_count": "how often this conversation has been compacted",
}

ONLY_AT_ERROR: Mapping[str, str] = {
    "stated_tokens": "the limit that the error states, in tokens; 0 where it states none",
    "attempt": "which compaction for this request it would be: 1, 2 ...",
}
"""What is known only where a provider has refused a request."""

VARIABLES: Mapping[str, Mapping[str, str]] = {
    "turn_start": _BEFORE_ANY_CALL,
    "tool_results": _BEFORE_ANY_CALL,
    "before_call": _BEFORE_ANY_CALL,
    "manual": _BEFORE_ANY_CALL,
    "error": {**_BEFORE_ANY_CALL, **ONLY_AT_ERROR},
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

_COMPARISONS: Mapping[str, type[ast.cmpop]] = {
    "eq": ast.Eq,
    "ne": ast.NotEq,
    "lt": ast.Lt,
    "lteq": ast.LtE,
    "gt": ast.Gt,
    "gteq": ast.GtE,
    "in": ast.In,
    "notin": ast.NotIn,
}
_SIGNS: Mapping[str, type[ast.unaryop]] = {"Not": ast.Not, "Neg": ast.USub, "Pos": ast.UAdd}
_ARITHMETIC: Mapping[str, type[ast.operator]] = {
    "Add": ast.Add,
    "Sub": ast.Sub,
    "Mul": ast.Mult,
    "Div": ast.Div,
    "FloorDiv": ast.FloorDiv,
    "Mod": ast.Mod,
}

_MADE_OF = "a condition is made of names, numbers, texts, comparisons, and, or, not, in, + - * / // %"


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition; call it with a value for every variable that it ``names``."""

    source: str
    names: frozenset[str]
    _evaluate: Callable[[Mapping[str, Any]], Any] = field(repr=False, compare=False)

    def __call__(self, variables: Mapping[str, Any]) -> bool:
        """Whether the condition holds. Raises PolicyError where it cannot be computed, such as for a division by 0."""
        try:
            return bool(self._evaluate(variables))
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
        names = _names(expression)
        _check_names(text, names, known)
        for problem in _too_much(expression):
            raise _refusal(text, problem, _MADE_OF)
        environment.compile_expression(text)  # refuses what stands behind an expression
        evaluate = _compiled(expression)
    except TemplateError as error:
        message = (error.message or "").replace("'end of template'", "end")
        raise _refusal(text, f"not an expression: {message}") from error
    except (RecursionError, MemoryError, SyntaxError):
        raise _refusal(text[:80], "not an expression: too long or nested too deeply") from None
    except ValueError as error:
        raise _refusal(text[:80], f"not an expression: {error}") from None
    _try_out(text, evaluate, known)
    return Condition(text, names, evaluate)


def _compiled(expression: "nodes.Expr") -> Callable[[Mapping[str, Any]], Any]:
    """The expression as Python code: before every model call is too often for a template engine."""
    code = compile(ast.fix_missing_locations(ast.Expression(_python(expression))), "<condition>", "eval")
    return lambda variables: eval(code, {"__builtins__": {}}, variables)


def _python(node: "nodes.Node") -> ast.expr:
    """One of the allowed nodes, in Python's grammar."""
    from jinja2 import nodes

    match node:
        case nodes.Name(name=name):
            return ast.Name(name, ast.Load())
        case nodes.Const(value=value):
            return ast.Constant(value)
        case nodes.List(items=items):
            return ast.List(list(map(_python, items)), ast.Load())
        case nodes.Tuple(items=items):
            return ast.Tuple(list(map(_python, items)), ast.Load())
        case nodes.Compare(expr=first, ops=ops):
            return ast.Compare(_python(first), [_COMPARISONS[op.op]() for op in ops], [_python(op.expr) for op in ops])
        case nodes.And() | nodes.Or():
            joined = ast.And() if isinstance(node, nodes.And) else ast.Or()
            return ast.BoolOp(joined, [_python(node.left), _python(node.right)])
        case nodes.Not() | nodes.Neg() | nodes.Pos():
            return ast.UnaryOp(_SIGNS[type(node).__name__](), _python(node.node))
        case nodes.CondExpr(test=test, expr1=one, expr2=other):
            return ast.IfExp(_python(test), _python(one), ast.Constant(None) if other is None else _python(other))
        case nodes.BinExpr(left=left, right=right):
            return ast.BinOp(_python(left), _ARITHMETIC[type(node).__name__](), _python(right))
    raise TypeError(f"{type(node).__name__} is not allowed in a condition")


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


def _names(expression: "nodes.Expr") -> frozenset[str]:
    from jinja2 import nodes

    return frozenset(node.name for node in _nodes(expression) if isinstance(node, nodes.Name))


def _check_names(text: str, names: frozenset[str], known: Mapping[str, str]) -> None:
    unknown = sorted(names - set(known))
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


def _try_out(text: str, evaluate: Callable[[Mapping[str, Any]], Any], known: Mapping[str, str]) -> None:
    """Evaluate once with numbers, to refuse what no numbers could make work, such as comparing them with text."""
    from jinja2 import TemplateError

    try:
        bool(evaluate(dict.fromkeys(known, 1)))
    except (TypeError, TemplateError) as error:
        raise _refusal(text, f"the condition cannot be computed: {error}") from error
    except (ArithmeticError, ValueError):
        pass  # depends on the numbers: others may do


def _refusal(text: str, message: str, hint: str = "") -> PolicyError:
    return PolicyError([Problem(f"{text!r}", "", message, hint)])
