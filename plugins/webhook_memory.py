"""Memory behind a web address: posts each event as signed JSON and takes the answer's text as what is remembered."""

import hashlib
import hmac
import json
import os
import time
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from compactor import PluginError, hookimpl
from compactor.extension.events import PostCompress, PreCompress
from compactor.messages.as_json import compact_json
from compactor.messages.message import Message

SIGNATURE = "X-Compactor-Signature"
"""The header with ``sha256=`` and the HMAC of the body in hexadecimal digits."""

MOST_READ = 256_000
"""Bytes of an answer that are read; the policy's ``max_tokens`` cuts further."""

_PAUSE = 0.2  # seconds before the first retry; doubled before each one after it
_SECRET_HEADERS = ("authorization", "cookie", "token", "secret", "key", "password")


class Settings(BaseModel):
    """What a policy says about the plugin.

    ``url`` has no user and no password. ``secret_env`` names the environment variable with the HMAC key; ``headers``
    are sent along and hold no secrets. ``max_bytes`` bounds the body: the oldest messages are left out first.
    ``timeout`` is in seconds, for one try; ``retries`` follow only on a timeout, a lost connection or a status of 500
    and above. The defaults fit into the default ``deadline`` of a plugin, which ends it all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(
        pattern=r"^https?://[^\s/@]+(?:[/?#]\S*)?$", description="Where it is posted to, without user and password."
    )
    secret_env: str | None = Field(
        None, description="The environment variable with the key that the body is signed by."
    )
    headers: dict[str, str] = Field({}, description="Sent along; may hold no secrets.")
    max_bytes: int = Field(
        1_000_000, ge=1000, description="Bytes of the body at most; the oldest messages are left out first."
    )
    timeout: float = Field(3.0, gt=0, description="Seconds for one try.")
    retries: int = Field(
        2, ge=0, le=10, description="Tries that follow a timeout, a lost connection or a status from 500 on."
    )
    report: bool = Field(False, description="Whether the report of a compaction is posted as well.")

    @field_validator("headers")
    @classmethod
    def _no_secrets(cls, headers: dict[str, str]) -> dict[str, str]:
        """A policy is no place for secrets: the body is signed instead."""
        for name in headers:
            if any(word in name.lower() for word in _SECRET_HEADERS):
                raise ValueError(f"the header {name!r} would put a secret into the policy; use secret_env")
        return headers


class Plugin:
    """Posts what is about to be folded, and the report if asked to."""

    Config = Settings

    def __init__(self, config: Settings) -> None:
        self._config = config

    @hookimpl
    def on_pre_compress(self, event: PreCompress) -> str | None:
        """Posts the event; the answer's ``text`` (of a JSON object), or its plain text, is remembered.

        Raises ``PluginError`` when there is no answer with a status of 200 to 299.
        """
        return _text(*self._posted(event_body(event, self._config.max_bytes)))

    @hookimpl
    def on_post_compress(self, event: PostCompress) -> None:
        """Posts outcome, summary and report. Raises ``PluginError`` as above."""
        if self._config.report:
            summary = _cut(event.summary, self._config.max_bytes // 16)
            data = {"event": "post_compress", "outcome": event.outcome, "summary": summary, "report": event.report}
            self._posted(_encoded(data))

    def _posted(self, body: bytes) -> tuple[str, str]:
        """Content type and text of the answer; tried again where that may help."""
        headers = {"content-type": "application/json", **self._config.headers, **self._signature(body)}
        pause = _PAUSE
        for retries_left in range(self._config.retries, -1, -1):
            try:
                return self._once(body, headers)
            except _PassingFailure as failure:
                if not retries_left:
                    tries = self._config.retries + 1
                    raise PluginError(f"{failure}, {tries} tries" if tries > 1 else str(failure)) from failure
                time.sleep(pause)
                pause *= 2
        raise AssertionError("unreachable")

    def _signature(self, body: bytes) -> Mapping[str, str]:
        name = self._config.secret_env
        if name is None:
            return {}
        key = os.environ.get(name)
        if not key:
            raise PluginError(f"the environment variable {name} with the key for the signature is not set")
        return {SIGNATURE: f"sha256={hmac.new(key.encode(), body, hashlib.sha256).hexdigest()}"}

    def _once(self, body: bytes, headers: Mapping[str, str]) -> tuple[str, str]:
        import httpx  # takes a while to import, and only this needs it

        end = time.monotonic() + self._config.timeout
        read = bytearray()
        try:
            with httpx.stream(
                "POST", self._config.url, content=body, headers=headers, timeout=self._config.timeout
            ) as answer:
                if not answer.is_success:
                    raise (_PassingFailure if answer.status_code >= 500 else PluginError)(
                        f"the webhook answered with status {answer.status_code}"
                    )
                for piece in answer.iter_bytes(65_536):
                    read += piece
                    if len(read) >= MOST_READ:
                        break
                    if time.monotonic() > end:  # the timeout above is for one read, and a server may drip
                        raise _PassingFailure(f"the webhook gave no whole answer within {self._config.timeout:g} s")
                text = bytes(read[:MOST_READ]).decode(answer.encoding or "utf-8", "replace")
                return answer.headers.get("content-type", ""), text
        except httpx.TimeoutException as error:
            raise _PassingFailure(f"the webhook gave no answer within {self._config.timeout:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # The error's own text may name the address, and that may have a token in it.
            raise _PassingFailure(f"the webhook cannot be reached ({type(error).__name__})") from error


class _PassingFailure(PluginError):
    """A failure that another try may not meet."""


def event_body(event: PreCompress, max_bytes: int) -> bytes:
    """The event as JSON of at most ``max_bytes``.

    The oldest messages are left out first; ``messages_left_out`` says how many. Focus and summary are cut where they
    would take more than a share of the room. ``folded`` are the places (``index``) of messages that are replaced.
    """
    data = {
        "event": "pre_compress",
        "count": event.count,
        "focus": _cut(event.focus, max_bytes // 64),
        "summary": _cut(event.summary, max_bytes // 16),
        "messages_left_out": len(event.messages),
        "folded": [],
        "messages": [],
    }
    room = max_bytes - len(_encoded(data))
    folded = {message.index for message in event.folded}
    shown: list[bytes] = []
    places: list[int | None] = []
    for message in reversed(event.messages):
        encoded = _encoded(_message(message))
        room -= len(encoded) + 1 + (len(str(message.index)) + 1 if message.index in folded else 0)
        if room < 0:
            break
        shown.append(encoded)
        places += [message.index] if message.index in folded else []
    data |= {"messages_left_out": len(event.messages) - len(shown), "folded": places[::-1]}
    return _encoded(data).removesuffix(b"[]}") + b"[" + b",".join(reversed(shown)) + b"]}"


def _cut(text: str | None, most: int) -> str | None:
    return text if text is None or len(text) <= most else text[:most] + " …[cut]"


def _message(message: Message) -> dict[str, Any]:
    """A message as plain data; media are named, not sent."""
    calls = [{"ids": call.ids, "name": call.name, "arguments": call.arguments} for call in message.calls]
    media = [{"kind": item.kind, "label": item.label} for item in message.media]
    data: dict[str, Any] = {"index": message.index, "role": message.role, "text": message.text}
    data |= {"calls": calls} if calls else {}
    data |= {"answers": [list(result.ids) for result in message.results]} if message.results else {}
    return data | ({"media": media} if media else {})


def _encoded(data: Any) -> bytes:
    """Compact JSON, at most six bytes for a code point; lone surrogates cannot be sent."""
    return compact_json(data).encode("utf-8", "replace")


def _text(content_type: str, answer: str) -> str | None:
    """What an answer says: the field ``text`` of a JSON object, the whole of a plain text."""
    if "json" not in content_type:
        return answer.strip() or None
    try:
        value = json.loads(answer)
    except ValueError as error:
        raise PluginError("the webhook's answer is called JSON, but is none or too long") from error
    text = value.get("text") if isinstance(value, Mapping) else None
    if text is not None and not isinstance(text, str):
        raise PluginError(f"the webhook's answer has a {type(text).__name__} as its 'text'")
    return text
