"""What the core itself provides, registered through the same hooks as any extension."""

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel

from compactor.extension.hookspecs import CounterFactory, FormatFactory, SummarizerFactory, hookimpl
from compactor.messages.formats.openai_chat import OpenAIChat
from compactor.planning.pruning.clear_media import ClearMedia
from compactor.planning.pruning.clear_tool_results import ClearToolResults
from compactor.summarizing.extractive.summarizer import ExtractiveSummarizer
from compactor.summarizing.llm import LiteLLM
from compactor.tokens.builtin import COUNTERS

NAME = "builtin"


@hookimpl
def register_counters() -> Mapping[str, CounterFactory]:
    return COUNTERS


@hookimpl
def register_pruners() -> Mapping[str, type[BaseModel]]:
    return {"clear_tool_results": ClearToolResults, "clear_media": ClearMedia}


@hookimpl
def register_summarizers() -> Mapping[str, SummarizerFactory]:
    return MappingProxyType({"litellm": LiteLLM, "extractive": lambda _settings: ExtractiveSummarizer()})


@hookimpl
def register_formats() -> Mapping[str, FormatFactory]:
    return {"openai-chat": OpenAIChat}
