"""Conditions: the ``when:`` of a trigger, a Jinja expression over a few known numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compactor.errors import PolicyError, Problem
from compactor.policy.wording import did_you_mean, listed

if TYPE_CHECKING:  # Jinja costs time to import, and a policy without triggers does not need it
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
        unknown = sorted(_names(environment, text) - set(known))
        evaluate = environment.compile_expression(text, undefined_to_none=False)
    except TemplateError as error:
        message = (error.message or "").replace("'end of template'", "end")
        raise _refusal(text, f"not an expression: {message}") from error
    if unknown:
        plural = "s" if len(unknown) > 1 else ""
        raise _refusal(
            text,
            f"unknown variable{plural} {listed(unknown)}; known are {listed(known)}",
            next(filter(None, (did_you_mean(name, known) for name in unknown)), ""),
        )
    _try_out(text, evaluate, known)
    return Condition(text, evaluate)


def _environment() -> "ImmutableSandboxedEnvironment":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    environment.globals.clear()  # `range` and the like are no help here, and would count as known names
    return environment


def _names(environment: "ImmutableSandboxedEnvironment", text: str) -> set[str]:
    from jinja2 import nodes
    from jinja2.parser import Parser

    expression = Parser(environment, text, state="variable").parse_expression()
    found = (expression, *expression.find_all(nodes.Name))  # find_all leaves out the node that it starts from
    return {node.name for node in found if isinstance(node, nodes.Name)}


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
