"""How policies are found: the search path, names and paths, extends, shadowing and cycles."""

import os
from pathlib import Path

import pytest

from compactor.policy.search import find_policies, user_directory

from .conftest import Load, Refused, Write


def test_the_search_path(write: Write, load: Load, environ: dict[str, str]) -> None:
    environ["COMPACTOR_POLICY_PATH"] = os.pathsep.join(["first", "second"])
    places = ["first", "second", "policies", "config/compactor/policies"]
    for place in places:
        write("", f"{place}/hermes.yaml")
    for place in places:
        assert load("hermes").path == f"{place}/hermes.yaml"
        Path(place, "hermes.yaml").unlink()
    assert load("hermes").path == "shipped:hermes.yaml"


def test_a_path_is_a_file(write: Write, load: Load, refused: Refused, workplace: Path) -> None:
    file = write("", "elsewhere/own.yml")
    assert load("elsewhere/own.yml").path == "elsewhere/own.yml"
    assert load(file).policy.name == "own"
    assert refused("elsewhere/other.yml") == ["elsewhere/other.yml: there is no such file"]


def test_not_found_lists_every_place(write: Write, refused: Refused, environ: dict[str, str]) -> None:
    environ["COMPACTOR_POLICY_PATH"] = "team"
    write("")
    assert refused("mime") == [
        "mime: there is no policy 'mime'; looked in team (does not exist), policies, "
        "config/compactor/policies (does not exist), shipped (did you mean 'mine'?)"
    ]


def test_listing(write: Write, environ: dict[str, str], workplace: Path) -> None:
    write("description: My own.")
    write("", "policies/shared/secrets.yaml")
    write("description: Shadows the shipped one.", "policies/hermes.yaml")
    (workplace / "policies/table.yaml").write_text("a: 1\n")
    (workplace / "policies/broken.yaml").write_text("name: [\n")
    (workplace / "policies/notes.txt").write_text("name: no\n")
    found = {entry.name: (entry.path, entry.description) for entry in find_policies(environ)}
    assert sorted(found) == ["broken", "default", "hermes", "mine"]
    assert found["mine"] == ("policies/mine.yaml", "My own.")
    assert found["hermes"] == ("policies/hermes.yaml", "Shadows the shipped one.")
    assert found["broken"][1].startswith("cannot be read: this is not YAML")
    assert found["default"][0] == "shipped:default.yaml"


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {"HOME": "/h"}, "/h/.config/compactor"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/compactor"),
        ("darwin", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/h/Library/Application Support/compactor"),
        ("win32", {"HOME": "/h", "APPDATA": "/a"}, "/a/compactor"),
        ("win32", {"HOME": "/h"}, "/h/AppData/Roaming/compactor"),
    ],
)
def test_the_users_directory(platform: str, environ: dict[str, str], expected: str) -> None:
    assert user_directory(environ, platform).as_posix() == expected


def test_extends_merges_mappings_and_replaces_lists(write: Write, load: Load) -> None:
    write(
        "boundaries: {protect_first_n: 1, protect_last_n: 2}\npruning: [{use: a}, {use: b}]\n", "policies/parent.yaml"
    )
    write("extends: parent\nboundaries: {protect_last_n: 3}\npruning: [{use: c}]\n")
    policy = load().policy
    assert (policy.boundaries.protect_first_n, policy.boundaries.protect_last_n) == (1, 3)
    assert [entry.use for entry in policy.pruning] == ["c"]
    assert policy.name == "mine"


def test_extends_by_path_is_relative_to_the_file(write: Write, load: Load) -> None:
    write("counter: grand", "base/grand.yaml")
    write("extends: ./grand.yaml", "base/parent.yaml")
    write("extends: ../base/parent.yaml")
    assert load().policy.counter == "grand"


def test_a_policy_may_extend_the_one_that_it_shadows(write: Write, load: Load, environ: dict[str, str]) -> None:
    environ["COMPACTOR_POLICY_PATH"] = "team"
    write("extends: default\nmin_gain: 0.1", "team/default.yaml")
    write("extends: default\nmin_gain: 0.2\nthreshold: 0.7", "policies/default.yaml")
    loaded = load("default")
    assert (loaded.policy.min_gain, loaded.policy.threshold, loaded.policy.target) == (0.1, 0.7, 0.25)
    assert loaded.line("min_gain") == "team/default.yaml:4"
    assert loaded.line("threshold") == "policies/default.yaml:5"
    assert loaded.line("target").startswith("shipped:default.yaml:")


def test_a_policy_cannot_extend_itself(write: Write, refused: Refused) -> None:
    write("extends: mine")
    assert refused() == [
        "policies/mine.yaml:3:10: extends: the policy extends itself "
        "(there is no other 'mine' further down the search path)"
    ]


def test_a_cycle_shows_the_chain(write: Write, refused: Refused) -> None:
    write("extends: b", "policies/a.yaml")
    write("extends: ./c.yaml", "policies/b.yaml")
    write("extends: a", "policies/c.yaml")
    assert refused("a") == [
        "policies/c.yaml:3:10: extends: goes round in a circle: "
        "policies/a.yaml -> policies/b.yaml -> policies/c.yaml -> policies/a.yaml"
    ]


def test_a_mapping_may_extend(write: Write, load: Load) -> None:
    write("min_gain: 0.3")
    loaded = load({"extends": "mine", "threshold": 5000})
    assert (loaded.policy.min_gain, loaded.policy.threshold, loaded.path) == (0.3, 5000, None)
    assert loaded.line("threshold") == "<policy>"
