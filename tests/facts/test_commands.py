"""Shell commands in arguments, and what calls did."""

import pytest

from compactor.facts.actions import action_of
from compactor.facts.commands import command_of, read_command


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ({"command": "pytest -q"}, "pytest -q"),
        ({"cmd": ["bash", "-lc", "go test ./..."]}, "go test ./..."),
        ({"cmd": ["ls", "-l"]}, "ls -l"),
        ({"command": ""}, ""),
        ({"command": None}, ""),
        ({"command": []}, ""),
        ({"path": "a.py"}, ""),
    ],
)
def test_the_command_is_found_in_the_arguments(arguments: dict[str, object], command: str) -> None:
    assert command_of(arguments) == command


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("cd /srv/app && go test ./pkg -run TestX", "go test"),
        ("CI=1 python -m pytest -x tests", "pytest"),
        ("npm run lint -- --fix", "npm run lint"),
        ("git -C repo commit -m 'x'", "git commit"),
        ("timeout 30 pytest", "pytest"),
        ("make; echo done", "make"),
        ("pytest tests | tail -3", "pytest"),
        ("cd src", ""),
        ("", ""),
    ],
)
def test_two_tries_of_one_thing_have_one_program(command: str, program: str) -> None:
    assert read_command(command).program == program


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("ls -l && cat a.txt", True),
        ("git status", True),
        ("sed -n '1,20p' a.py", True),
        ("grep -rn x . 2>/dev/null", True),
        ("sed -i s/a/b/ a.py", False),
        ("cat > a.txt", False),
        ("git commit -m x", False),
        ("pytest", False),
    ],
)
def test_a_command_that_only_looks_is_told_from_one_that_acts(command: str, looks: bool) -> None:
    assert read_command(command).looks is looks


@pytest.mark.parametrize(
    ("name", "arguments", "text", "effect"),
    [
        ("Read", '{"file_path": "/a/b.py"}', "read /a/b.py", False),
        ("Edit", '{"file_path": "b.py", "new_string": "x = 1"}', "edited b.py: x = 1", True),
        ("editor", '{"command": "view", "path": "b.py"}', "read b.py", False),
        ("editor", '{"command": "create", "path": "b.py", "file_text": "y"}', "created b.py: y", True),
        ("Bash", '{"command": "pytest -q"}', "`pytest -q`", True),
        ("cancel_order", '{"order": "A-17"}', "cancel_order(order=A-17)", True),
        ("get_order", '{"order": "A-17"}', "get_order(order=A-17)", False),
        ("apply_patch", "*** Begin Patch\n*** Update File: a.py\n+z = 2\n", "edited a.py: z = 2", True),
        ("todo_write", "{}", "todo_write()", False),
        ("t", "not json", "t(not json)", False),
        ("t", None, "t()", False),
        ("t", {"n": 1}, "t(n=1)", False),
        ("t", "[1, 2]", "t([1, 2])", False),
    ],
)
def test_an_action_says_what_a_call_did(name: str, arguments: object, text: str, effect: bool) -> None:
    action = action_of(name, arguments)
    assert (action.text, action.effect) == (text, effect)
