"""Fault D15: secrets stay in the conversation. All secrets here are made up, and put together at run time."""

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from compactor import CompactionState, Compactor, SummaryRequest
from compactor.redaction import PatternRedactor, shipped_patterns
from compactor.testing import ScriptedSummarizer, assistant, call, result, rounds, system, user

from .summarizing.model_server import completion, serving

DIGITS = "0123456789"
MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7z"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
B64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7/abc+def1234"
NAMED = "aVerySecret" + DIGITS


def _private_key(kind: str, newline: str = "\n") -> str:
    lines = [f"-----BEGIN {kind}" + "-----", B64, B64, "abcd==", f"-----END {kind}" + "-----"]
    return newline.join(lines)


# kind, the secret, the text around it ({} is its place)
SECRETS = [
    ("anthropic_key", "sk-" + "ant-api03-" + MIXED, "the key is {}."),
    ("openai_key", "sk-" + "proj-" + MIXED + "_" + MIXED, '"{}"'),
    ("openai_key", "sk-" + "svcacct-" + MIXED, "{}"),
    ("api_key", "sk-" + MIXED + MIXED[:20], "key:{}"),
    ("api_key", "sk-" + "or-v1-" + HEX * 2, "{}\n"),
    ("api_key", "sk-" + "lf-" + "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "{}"),
    ("api_key", "gsk" + "_" + MIXED * 2, "{}"),
    ("api_key", "xai" + "-" + MIXED * 2, "{}"),
    ("stripe_key", "k_" + "live_" + MIXED, "s{}"),
    *[("github_token", f"gh{kind}" + "_" + MIXED + DIGITS, "({})") for kind in "pousr"],
    ("github_token", "github" + "_pat_" + MIXED + "_" + MIXED, "{}"),
    ("gitlab_token", "glpat" + "-" + MIXED, "git clone {}"),
    ("aws_access_key", "AKIA" + "IOSFODNN7" + "EXAMPLE", "aws {} x"),
    ("aws_access_key", "ASIA" + "IOSFODNN7" + "EXAMPLE", "{}"),
    ("google_key", "AIza" + MIXED + "_-12345", "?k={}"),
    ("google_token", "ya29" + "." + MIXED, "{}"),
    *[("slack_token", f"xox{kind}" + "-" + "12345-67890-" + MIXED, "{}") for kind in "abeprs"],
    ("slack_webhook", "T0000/B0000/" + MIXED, "https://hooks.slack.com/services/{}"),
    ("npm_token", "npm" + "_" + MIXED + DIGITS[:8], "{}"),
    ("pypi_token", "pypi" + "-AgE" + MIXED * 2, "{}"),
    ("huggingface_token", "hf" + "_" + MIXED + DIGITS, "{}"),
    ("sendgrid_key", "SG" + "." + MIXED + "." + MIXED, "{}"),
    ("jwt", "eyJ" + MIXED + ".eyJ" + MIXED + "." + MIXED, "cookie={}"),
    ("private_key", _private_key("RSA PRIVATE KEY"), "key:\n{}\nend"),
    ("private_key", _private_key("PRIVATE KEY"), "{}"),
    ("private_key", _private_key("OPENSSH PRIVATE KEY", "\\n"), '{{"key": "{}"}}'),
    ("private_key", _private_key("PGP PRIVATE KEY BLOCK"), "{}"),
    ("private_key", _private_key("EC PRIVATE KEY").rsplit("\n", 1)[0], "{}"),  # cut off before its end
    ("url_password", "hunter2" + "pass", "postgres://app:{}@db.internal:5432/main"),
    ("url_password", "p%40ss", "redis://:{}@cache/0"),
    ("url_password", "p@ssw0rd" + "Long", "postgres://user:{}@h"),
    ("url_password", "Sup3r/" + "Secr3t", "postgres://user:{}@h/db"),
    ("url_password", "it'sSecret" + "1", "https://u:{}@h"),
    ("authorization", MIXED, "Authorization: Bearer {}"),
    ("authorization", "abc" + "123", "Authorization: Bearer {}"),
    ("authorization", "Sup3r" + "S3cret", "curl -s https://example.org/?a=1&b=2 -u admin:{}"),
    ("authorization", "Sup3r" + "S3cret", "curl -u admin:{} https://example.org"),
    ("cookie", HEX, "Cookie: sessionid={}"),
    ("cookie", HEX, '"Set-Cookie": "theme=dark; sid={}; Path=/"'),
    ("authorization", MIXED, '{{"authorization": "bearer {}"}}'),
    ("authorization", "dXNlcjpwYXNzMTIz" + "NDU2Nzg5MA==", "-H 'Authorization: Basic {}'"),
    ("authorization", MIXED, '{{\\"Authorization\\": \\"Token {}\\"}}'),
    ("environment_secret", "hunter2", "DB_PASSWORD={}\nDEBUG=1"),
    ("environment_secret", "correct horse", "API_KEY={}".replace("{}", '"{}"')),
    ("environment_secret", "correct-horse", "export MY_SECRET={}"),
    ("environment_secret", "swordfish", "docker run -e SLACK_TOKEN={} image"),
    ("environment_secret", "swordfish", "GOOGLE_CREDENTIALS={}"),
    ("environment_secret", "$ecret" + "123x", "DB_PASSWORD={}"),
    ("environment_secret", "*abc123" + "!x", "DB_PASSWORD={}"),
    ("environment_secret", "(abc)" + "def123", "DB_PASSWORD={}"),
    ("environment_secret", '"abc', "PASSWORD={}\nDEBUG=1"),
    ("environment_secret", "'abcdef", "PASSWORD={}\nDEBUG=1"),
    ("environment_secret", "hunter2", "DB_PASS={}"),
    ("environment_secret", "swordfish", "MASTERKEY={}"),
    ("environment_secret", "correct" + "horse", "x\ndb_password={}\ny"),
    ("environment_secret", "abcdefghijk", "x\napi_key={}"),
    ("environment_secret", "abcDEF" + "ghiJKL", "x\nclient_secret={}\n"),
    ("named_secret", "correcthorse" + "battery", '{{"password": "{}"}}'),
    ("named_secret", "correcthorse" + "battery", '{{\\"client_secret\\": \\"{}\\"}}'),
    ("named_secret", "Token2" + "ValueObject", "token: '{}'"),
    ("named_secret", NAMED, '"api_key": "{}"'),
    ("named_secret", NAMED, "apiKey: '{}'"),
    ("named_secret", NAMED, "client_secret = {}"),
    ("named_secret", NAMED, "Pwd={};Server=x"),
    ("named_secret", NAMED, '{{\\"password\\": \\"{}\\"}}'),
    ("named_secret", NAMED, ":secret => '{}'"),
    ("named_secret", NAMED, "x-api-key: {}"),
    ("named_secret", NAMED, "AccountKey={};"),
    ("named_secret", NAMED, "aws_secret_access_key = {}"),
]

NEAR_MISSES = [
    "commit 68d5dee0a1b2c3d4e5f60718293a4b5c6d7e8f90",
    "sha256:" + HEX * 2,
    "integrity sha512-" + MIXED + "==",
    "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
    "def login(token: str, password: str | None = None) -> None: ...",
    "max_tokens: 4096",
    "tokens_before: 150000",
    '{"max_tokens": 4096, "prompt_tokens": 150000}',
    'password=os.environ["X"]',
    'DB_PASSWORD=os.environ["X"]',
    "token = get_token(user_id_2024)",
    "secret: ${{ secrets.DEPLOY_KEY_2024 }}",
    "API_KEY=$OPENAI_API_KEY",
    "API_KEY=${OPENAI_API_KEY}",
    "API_KEY=<your key>",
    "TOKEN=$(cat token.txt)",
    "API_KEY=None",
    "postgres://app:${DB_PASSWORD}@db/main",
    "f'postgres://{user}:{password}@{host}'",
    "http://localhost:8080/@scope/package",
    "git@github.com:owner/repository.git",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "src/auth/token_store_v2.py:120: class TokenStore2024Manager:",
    "/usr/lib/python3.11/site-packages/secrets-1.2.3/password_hash.py",
    "version 1.24.0-rc.1+build.20240101",
    "task-force-risk-assessment-2024",
    "sk-learn-tutorial-version-2024-final",
    "desk-organizer-2024-premium-edition",
    "the bearer of this letter, bearer authentication",
    "primary_key: user_account_2024",
    "for key, value in items: keys[key] = value",
    "-----BEGIN CERTIFICATE-----\n" + B64 + "\n-----END CERTIFICATE-----",
    'if "-----BEGIN PRIVATE ' + 'KEY-----" in text:\n    return parse(text)',
    "pass\nwhile True: pass",
    "password: changes every 90 days",
    "eyJust a word. eyJ",
    "MONKEY=banana",
    "COMPASS=north",
    "BYPASS=always",
    "PASS=test_one_2",
    "FOREIGN_KEY=user_id",
    "SORT_KEY=created_at",
    "KEY=VALUE",
    "pwd=/home/user1/project",
    "PWD=/srv/app1",
    "passwd: /etc/passwd2/file_x",
    "next_token = self.lexer2.advance",
    "const token = useToken2Value;",
    "token: Token2ValueObject",
    "token:v1.2.3-alpha4",
    "sk-" + "learn-contrib-1234567890abcdefghij12",
    "--- PASS: TestFoo405ProbeDoesNot (0.0s)",
    "http://[::1]:8080/@scope/package",
    "https://example.org:8443/packages@v2",
    'print("API_KEY=" + value)',
    "['API_KEY=', 'B=']",
    'API_KEY="$OPENAI_API_KEY"',
    "    connect(password=password, token=token)",
    "password=settings.password",
    "token=get_token(1)",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $ACCESS_TOKEN",
    "docker run -u 1000:1000 image",
    "Cookie: theme=dark",
    '{"password": "required"}',
]


@pytest.fixture(scope="module")
def redactor() -> PatternRedactor:
    return PatternRedactor(shipped_patterns())


@pytest.mark.parametrize(("kind", "secret", "around"), SECRETS)
def test_secrets_of_every_kind(redactor: PatternRedactor, kind: str, secret: str, around: str) -> None:
    for text in (around.format(secret), "Größe 😀 İ\n" + around.format(secret) + " 😀"):
        shown, counts = redactor.redact(text)
        assert secret not in shown
        assert counts == {kind: 1}
        assert shown.count(f"[redacted: {kind}]") == 1
        assert redactor.redact(shown) == (shown, {})


def test_every_shipped_kind_is_in_the_table() -> None:
    assert {pattern.id for pattern in shipped_patterns()} == {kind for kind, _, _ in SECRETS}


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_near_misses_stay(redactor: PatternRedactor, text: str) -> None:
    assert redactor.redact(text) == (text, {})


def test_an_env_dump(redactor: PatternRedactor) -> None:
    dump = "PATH=/usr/bin\nDEBUG=true\nOPENAI_API_KEY=abc\nDB_PASSWORD=hunter2\nJWT_SECRET='s3 cret'\nPORT=8080\n"
    shown, counts = redactor.redact(dump.replace("abc", "sk-" + MIXED))
    assert counts == {"environment_secret": 2, "api_key": 1}
    assert shown == (
        "PATH=/usr/bin\nDEBUG=true\nOPENAI_API_KEY=[redacted: api_key]\n"
        "DB_PASSWORD=[redacted: environment_secret]\nJWT_SECRET=[redacted: environment_secret]\nPORT=8080\n"
    )


@pytest.mark.parametrize(
    "unit",
    [
        "KEY=", 'KEY="', "key=", "token: ", "sk-", "-eyJ", "://:", "://a:b", "://a:b/",
        "curl ", "curl -u a:", "cookie: a=b; ", "cookie: a=b;", "password=", "\npassword=a",
        "PASSWORD=(", "PASSWORD=(a)", "token: 1.1.", "token=a.a.a.a.a.a.a.a.a.a!", "token: " + "aA" * 20 + "!",
        'PASSWORD="a', "token=a.", "token=aAa", "token: Aa1", "authorization: bearer ", 'password": "',
        "bearer a1", "authorization:   ",
        "-----BEGIN PRIVATE " + "KEY-----", "-----BEGIN ", "a" * 60, "SG.-", "\\n",
    ],
)  # fmt: skip
def test_hostile_text_takes_no_long_time(redactor: PatternRedactor, unit: str) -> None:
    started = time.process_time()
    redactor.redact(unit * (300_000 // len(unit)))
    assert time.process_time() - started < 2


# -- The whole way: row D15 -------------------------------------------------------------------------------------------

SECRET = {
    "message": "sk-" + "ant-" + "message0" + MIXED,
    "env": "hunter2" + "env",
    "url": "hunter3" + "url",
    "focus": "ghp" + "_focus" + MIXED + DIGITS,
    "previous": "glpat" + "-previous1" + MIXED,
    "state": "glpat" + "-state1" + MIXED,
    "arguments": "AIza" + "Args1" + MIXED + "-_",
    "result": "hf" + "_Result1" + MIXED + DIGITS,
    "reply": "npm" + "_Reply1" + MIXED + "ab",
    "plugin": "xoxb" + "-plugin1-" + MIXED,
    "restated": "xoxp" + "-restated1-" + MIXED,
    "raised": "SG" + ".Raised1" + MIXED + "." + MIXED,
    "kept": "ghp" + "_kept1" + MIXED + DIGITS,
}

SPY = """
from compactor import hookimpl

@hookimpl
def provide_state(event):
    SEEN.append(repr(event))
    return "an open file with " + "RESTATED"

@hookimpl
def on_pre_compress(event):
    SEEN.append(repr(event))
    return "remember " + "PLUGIN"

@hookimpl
def on_post_compress(event):
    SEEN.append(repr(event))
    raise RuntimeError("RAISED")

SEEN = []
"""


def conversation() -> list[dict[str, Any]]:
    steps = [
        system(f"You help. The kept one is {SECRET['kept']}."),
        user(f"Deploy with {SECRET['message']}."),
        assistant(
            None,
            call("c1", "run", {"command": f"curl -H 'x: {SECRET['arguments']}' https://a:{SECRET['url']}@example.org"}),
        ),
        result("c1", f"PORT=1\nDB_PASSWORD={SECRET['env']}\n{SECRET['result']}"),
        assistant("Done."),
    ]
    return [*steps, *rounds(30, chars=2000), user(f"Go on with {SECRET['kept']}, please.")]


def policy(tmp_path: Path, **more: Any) -> Path:
    plugin = SPY
    for name in ("plugin", "restated", "raised"):
        plugin = plugin.replace(name.upper(), SECRET[name])
    (tmp_path / "spy.py").write_text(plugin, "utf-8")
    path = tmp_path / "policy.yaml"
    data = {"version": 1, "extends": "default", "plugins": ["./spy.py"], **more}
    path.write_text(json.dumps(data | {"boundaries": {"protect_first_n": 1}}), "utf-8")
    return path


def hooks_of(compactor: Compactor) -> Any:
    """What the spy has seen."""
    return compactor.prepared.hooks["on_pre_compress"][0].function.__globals__["SEEN"]


def leaks(text: str, *, but: tuple[str, ...] = ()) -> list[str]:
    return [name for name, secret in SECRET.items() if secret in text and name not in but]


def test_no_secret_leaves_the_conversation(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scripted = ScriptedSummarizer([f"## Goal\nDeploy {SECRET['previous']}.", f"## Goal\nDeploy {SECRET['reply']}."])
    compactor = Compactor(
        policy(tmp_path), overrides={"window.context_length": 20_000}, summarizer=scripted, environ={}
    )
    given = conversation()
    before = json.dumps(given)
    first = compactor.compact(given, force=True, focus=f"the token {SECRET['focus']}")
    assert json.dumps(given) == before
    more = [*first.messages, *rounds(30, chars=2000, first=100), user("And on.")]
    second = compactor.compact(more, state=first.state, force=True)
    for done in (first, second):
        assert done.outcome == "compacted", done.reason
        assert leaks(done.summary or "") == []
        assert leaks(done.state.summary or "") == []
        assert leaks(json.dumps(done.messages), but=("kept",)) == []
        assert leaks(json.dumps(done.to_dict())) == []
        assert done.messages[0]["content"].startswith(given[0]["content"])  # kept as it came, secret and all
    assert first.messages[-1] is given[-1]
    requests = "".join(repr(request) + request.prompt for request in scripted.requests)
    assert leaks(requests) == []
    assert leaks("".join(hooks_of(compactor))) == []
    assert len(hooks_of(compactor)) == 6
    assert leaks(caplog.text) == []
    assert "[redacted: anthropic_key]" in scripted.requests[0].prompt
    assert "[redacted: github_token]" in (scripted.requests[0].focus or "")
    assert "[redacted: slack_token]" in (scripted.requests[0].memory or "")
    assert (scripted.requests[1].previous or "").startswith("## Goal\nDeploy [redacted: gitlab_token].")
    redacted = first.report.redacted
    assert {"anthropic_key", "environment_secret", "url_password", "google_key", "huggingface_token"} <= set(redacted)
    assert {"gitlab_token", "github_token", "slack_token"} <= set(redacted)


def test_a_summary_in_the_state_is_redacted_too(tmp_path: Path) -> None:
    scripted = ScriptedSummarizer(["## Goal\nDeploy."])
    compactor = Compactor(
        policy(tmp_path), overrides={"window.context_length": 20_000}, summarizer=scripted, environ={}
    )
    state = CompactionState(summary=f"## Goal\nDeploy {SECRET['state']}.", count=1)
    done = compactor.compact(conversation(), state=state, force=True)
    assert leaks(repr(scripted.requests[0]) + scripted.requests[0].prompt) == []
    assert "[redacted: gitlab_token]" in (scripted.requests[0].previous or "")
    assert leaks("".join(hooks_of(compactor))) == []
    assert leaks(json.dumps(done.messages), but=("kept",)) == []


def test_a_failure_is_told_without_secrets(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scripted = ScriptedSummarizer([RuntimeError(f"the key {SECRET['raised']} is not valid")])
    done = Compactor(
        policy(tmp_path), overrides={"window.context_length": 20_000}, summarizer=scripted, environ={}
    ).compact(conversation(), force=True)
    assert "is not valid" in caplog.text
    assert leaks(caplog.text + done.reason + json.dumps(done.to_dict()) + repr(done.state)) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("API_KEY=" + "sk-" + MIXED + "." + MIXED, "API_KEY=[redacted: environment_secret]"),
        ("glpat" + "-" + MIXED + "-api_key=" + NAMED, "[redacted: gitlab_token]=[redacted: named_secret]"),
    ],
)
def test_secrets_that_overlap_go_whole(redactor: PatternRedactor, text: str, shown: str) -> None:
    assert redactor.redact(text)[0] == shown


def test_a_static_note_carries_no_secret() -> None:
    scripted = ScriptedSummarizer([RuntimeError("down")])
    overrides = {"window.context_length": 20_000, "summary.on_failure": "static", "boundaries.protect_first_n": 1}
    state = CompactionState(summary=f"## Goal\nDeploy {SECRET['state']}.", count=1)
    done = Compactor("default", overrides=overrides, summarizer=scripted, environ={}).compact(
        conversation(), state=state, force=True
    )
    assert done.outcome == "compacted"
    assert leaks(json.dumps(done.messages), but=("kept",)) == []
    assert leaks(done.state.summary or "") == []
    assert "[redacted: gitlab_token]" in json.dumps(done.messages)


def test_what_a_model_server_gets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    caplog.set_level(logging.DEBUG)
    answer = "## Goal\nDeploy.\n\n## Next\nUse " + SECRET["reply"] + "."
    with serving(completion(answer)) as server:
        overrides = {
            "window.context_length": 20_000,
            "summary.model": "openai/m",
            "summary.options": {"api_base": server.url},
            "summary.summarizers": ["litellm"],
        }
        compactor = Compactor(policy(tmp_path), overrides=overrides, environ={})
        done = compactor.compact(conversation(), force=True, focus=f"the token {SECRET['focus']}")
    assert done.outcome == "compacted", done.reason
    assert done.report.summarizer == "litellm", done.report.attempts
    assert len(server.requests) == 1
    assert leaks(json.dumps(server.requests)) == []
    assert leaks(done.summary or "") == []
    # The client logs at DEBUG what it sends and what a server answers, before we see the answer.
    assert leaks(caplog.text, but=("reply",)) == []
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("compactor")]
    assert leaks("".join(ours)) == []


def test_patterns_of_a_policy_and_a_plugins_redactor(tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text(
        "from compactor import hookimpl\n\n"
        "class Names:\n"
        "    def redact(self, text):\n"
        "        count = text.count('Zoe Example')\n"
        "        return text.replace('Zoe Example', '[a customer]'), {'customer': count} if count else {}\n\n"
        "@hookimpl\n"
        "def register_redactors():\n"
        "    return {'names': Names}\n",
        "utf-8",
    )
    path = tmp_path / "policy.yaml"
    pattern = {"id": "badge", "literals": ["Ünit-"], "pattern": r"(?i:ünit)-(?P<secret>\d{4})", "any_case": False}
    other = {"id": "ticket", "literals": ["ticket "], "pattern": r"(?i:ticket) (?P<secret>T\d+)", "any_case": True}
    redaction = {"patterns": [pattern, other], "redactors": ["names"]}
    data = {"version": 1, "extends": "default", "plugins": ["./names.py"], "redaction": redaction}
    path.write_text(json.dumps(data | {"boundaries": {"protect_first_n": 1}}), "utf-8")
    seen: list[SummaryRequest] = []

    def summarize(request: SummaryRequest) -> str:
        seen.append(request)
        return "## Goal\nHelp Zoe Example with TICKET T77."

    messages = [system("You help."), user("Zoe Example wears Ünit-4711, see Ticket T42."), *rounds(30, chars=2000)]
    done = Compactor(path, overrides={"window.context_length": 20_000}, summarizer=summarize, environ={}).compact(
        [*messages, user("Go on.")], force=True
    )
    assert "[a customer] wears Ünit-[redacted: badge], see Ticket [redacted: ticket]." in seen[0].prompt
    assert (done.summary or "").endswith("Help [a customer] with TICKET [redacted: ticket].")
    assert done.report.redacted == {"customer": 2, "badge": 1, "ticket": 2}
