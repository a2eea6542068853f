"""Errors in the output of tools: whether a call failed, and the lines that say why."""

import re

# A line is looked at only where one of these stands: searching for literals is far cheaper than a pattern a line.
_LITERALS = (
    *("rror", "xception", "FAIL", "panic:", "fatal:", "ot found", "o such file"),
    *("enied", "efused", "ailed", "ndefined", "cannot ", "imed out"),
)
_LINE = re.compile(
    r"\b(?:[A-Z]\w*)?(?:Error|Exception|Warning)\b[:(]|\berror\b|\bFAIL(?:ED|URE)?\b|\bfailed\b|\bpanic:|\bfatal:"
    r"|not found|No such file|[Dd]enied|refused|[Uu]ndefined\b|cannot |[Tt]imed out|\w(?:Error|Exception)$"
)
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: code| status)?|exit_code|returncode|return code)[\"']?[:= ]{1,3}\(?(-?\d{1,9})"
)
_OPENING = re.compile(
    r"\s*(?:<\w*error\w*>|\[?error\b|(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b|Traceback \(most|fatal:|panic:"
    r"|bash: |/bin/\w+: |Exit code [1-9])",
    re.I,
)
_NO_FAILURE = re.compile(r"\b(?:0|no) (?:errors?|failed|failures?|warnings?)\b", re.I)
# A verdict with failures in it, whatever the exit code of the command line around it.
_VERDICT = re.compile(
    r"(?<![\d.])[1-9]\d* (?:failed|failing|failures?|errors?)\b|^(?:--- )?FAIL(?:ED)?\b|result: FAILED", re.M
)
_END = 1000  # code points of the end of an output in which a verdict stands
# Code that raises, catches or only quotes the line that it stands on, as an editor or a traceback shows it.
_CODE = re.compile(r"[>+-]?\s*(?:\d+\s*[→|:\t ])?\s*(?:raise|throw|except|catch|assert)\b")
_LONGEST = 8000  # code points of an output that are searched for error lines
_TAG = re.compile(r"^<\w+>|</\w+>$")


def exit_code(output: str) -> int | None:
    """The exit code that ``output`` states near its start or its end, None where it states none."""
    edges = (output,) if len(output) <= 700 else (output[:400], output[-300:])
    for edge in edges:
        lowered = edge.lower()
        if ("exit" in lowered or "return" in lowered) and (match := _EXIT.search(lowered)):
            return int(match.group(1))
    return None


def failed(output: str) -> bool:
    """Whether ``output`` is that of a call that failed: by its exit code, else by how it opens or ends."""
    code = exit_code(output)
    if code is not None:
        return code != 0
    return bool(_OPENING.match(output)) or "Traceback (most recent call last)" in output[-3000:]


def reports_failures(output: str) -> bool:
    """Whether the end of a check's ``output`` counts failures or errors: "1 failed, 180 passed", "Found 2 errors"."""
    end = output[-_END:]
    return ("ail" in end or "FAIL" in end or "rror" in end) and _VERDICT.search(end) is not None


def error_lines(output: str, most: int = 6) -> list[str]:
    """The lines of ``output`` that report an error, in order, each once, at most ``most``.

    Of a traceback that is its last line; of test runs the failing tests. Of a very long output the start and the
    end are read.
    """
    if len(output) > _LONGEST:
        output = f"{output[: _LONGEST // 2]}\n{output[-_LONGEST // 2 :]}"
    starts: set[int] = set()
    for literal in _LITERALS:
        at = output.find(literal)
        tries = 0
        while at >= 0 and tries < 4 * most:
            starts.add(output.rfind("\n", 0, at) + 1)
            end = output.find("\n", at)
            at = output.find(literal, end) if end >= 0 else -1
            tries += 1
    lines: dict[str, None] = {}
    for start in sorted(starts):
        end = output.find("\n", start)
        line = output[start : min(end if end >= 0 else len(output), start + 400)].strip()
        if len(line) > 3 and _LINE.search(line) and not _NO_FAILURE.search(line) and not _CODE.match(line):
            lines[_TAG.sub("", line)] = None
            if len(lines) >= most:
                break
    return list(lines)
