"""Reading YAML strictly: what is read, what is refused, and with which position."""

from typing import Any

import pytest

from compactor.policy.source import read_value, read_yaml


def problems(text: str) -> list[str]:
    return [str(problem) for problem in read_yaml(text, "f.yaml").problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("False", False),
        ("0", 0),
        ("-12", -12),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e5", 100000.0),
        ("-1.5E-3", -0.0015),
        ("2001-12-14", "2001-12-14"),
        ("'yes'", "yes"),
        ('"017"', "017"),
        ("y", "y"),
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("claude[1m]", "claude[1m]"),
        ("tokens >= threshold_tokens", "tokens >= threshold_tokens"),
        ("[1, {a: b}]", [1, {"a": "b"}]),
        ('{"a": [true]}', {"a": [True]}),
    ],
)
def test_values(text: str, value: Any) -> None:
    document = read_value(text, "--set", ("key",))
    assert document.problems == ()
    assert document.root is not None
    assert document.root.plain() == value
    assert type(document.root.plain()) is type(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: yes", "f.yaml:1:4: a: 'yes' is a boolean to some YAML readers (write true or false, or quote it)"),
        ("a: OFF", "f.yaml:1:4: a: 'OFF' is a boolean to some YAML readers (write true or false, or quote it)"),
        ("on: 1", "f.yaml:1:1: on: 'on' is a boolean to some YAML readers (write true or false, or quote it)"),
        ("a: 12:30", "f.yaml:1:4: a: '12:30' is a base-60 number to some YAML readers (quote it)"),
        ("a: 017", "f.yaml:1:4: a: '017' is an octal number to some YAML readers (drop the leading zero, or quote it)"),
        ("a: 0x1F", "f.yaml:1:4: a: '0x1F' is not a decimal number (write it in decimal digits, or quote it)"),
        ("a: 1_000", "f.yaml:1:4: a: '1_000' is a number to some YAML readers (drop the '_', or quote it)"),
        (
            "a: -.inf",
            "f.yaml:1:4: a: '-.inf' is not a number that a policy can use (write a finite number, or quote it)",
        ),
        ("12: a", "f.yaml:1:1: 12: a key must be text, got 12 (quote it)"),
        ("? [a]\n: 1", "f.yaml:1:3: a key must be text (write it on one line, before a colon)"),
        ("a: !!int 3", "f.yaml:1:4: a: tags (tag:yaml.org,2002:int) are not allowed (leave it out)"),
        ("a: &b 3", "f.yaml:1:4: a: anchors (&name) are not allowed (write the value out where it is needed)"),
        ("a: *b", "f.yaml:1:4: a: aliases (*name) are not allowed (write the value out)"),
        ("<<: {a: 1}", "f.yaml:1:1: <<: merge keys (<<) are not allowed (use 'extends', or write the keys out)"),
        ("a: 1\nb: 2\na: 3", "f.yaml:3:1: a: the key is there twice (the first one is f.yaml:1:1)"),
        ("a:\n  - {b: 1, b: 2}", "f.yaml:2:12: a.0.b: the key is there twice (the first one is f.yaml:2:6)"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1: a second document begins here (keep one policy a file, without '---')"),
        ("", "f.yaml:1:1: the file is empty (a policy begins with 'version: 1' and 'name: ...')"),
        ("# nothing\n", "f.yaml:1:1: the file is empty (a policy begins with 'version: 1' and 'name: ...')"),
        ("- a", "f.yaml:1:1: a policy is a mapping of keys to values (such as 'version: 1')"),
        ("é: ü\nß: no", "f.yaml:2:4: ß: 'no' is a boolean to some YAML readers (write true or false, or quote it)"),
    ],
)
def test_refusals(text: str, expected: str) -> None:
    assert problems(text) == [expected]


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("a: [1\nb: 2", "f.yaml:2:2:", ""),
        ("a:\n\tb: 1", "f.yaml:2:1:", "(YAML is indented with blanks, not with tabs)"),
        ("a: @b", "f.yaml:1:4:", "(text that begins with a special character needs quotes)"),
        ("a: [", "f.yaml:2:1:", ""),
        ("a: '\udcff'", "f.yaml:", "(write it as '\\x..' in quotes)"),
        ("a: '\x01'", "f.yaml:", "(write it as '\\x..' in quotes)"),
    ],
)
def test_broken_yaml_is_one_problem(text: str, position: str, hint: str) -> None:
    [problem] = problems(text)
    assert problem.startswith(f"{position} this is not YAML: ")
    assert problem.endswith(hint)


def test_a_tower_of_lists_is_refused() -> None:
    assert problems("a: " + "[" * 200 + "]" * 200) == ["f.yaml:1:44: more than 40 levels of nesting"]


def test_aliases_are_never_expanded() -> None:
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"
    assert len(problems(bomb)) == 7


def test_every_problem_of_a_file_is_found() -> None:
    assert [text.split(": ")[0] for text in problems("a: yes\nb: &x 1\nc: 017\n1: x\n")] == [
        "f.yaml:1:4",
        "f.yaml:2:4",
        "f.yaml:3:4",
        "f.yaml:4:1",
    ]


def test_positions_of_keys_and_values() -> None:
    root = read_yaml("a:\n  b: 1\n  c:\n    - x\n    - d: 2\n", "f.yaml").root
    assert root is not None
    assert {key: (node.origin.key, node.origin.value) for key, node in root.walk() if key} == {
        ("a",): ("f.yaml:1:1", "f.yaml:2:3"),
        ("a", "b"): ("f.yaml:2:3", "f.yaml:2:6"),
        ("a", "c"): ("f.yaml:3:3", "f.yaml:4:5"),
        ("a", "c", 0): ("f.yaml:4:7", "f.yaml:4:7"),
        ("a", "c", 1): ("f.yaml:5:7", "f.yaml:5:7"),
        ("a", "c", 1, "d"): ("f.yaml:5:7", "f.yaml:5:10"),
    }
