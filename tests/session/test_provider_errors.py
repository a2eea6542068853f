"""What refusals mean: raised by the real clients, from a real server on 127.0.0.1."""

import os
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import anthropic
import httpx
import openai
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from compactor.policy.errors import ErrorPattern
from compactor.session.provider_errors import ErrorTable, ProviderError, error_table

from .provider_server import Answer, ProviderServer, anthropic_answer, openai_answer, openai_stream, serving

MESSAGES: Any = [{"role": "user", "content": "Hello."}]
TABLE = error_table()

# Of litellm, where it first loads the code of some providers.
pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class:UserWarning")


REFUSALS = r"""
# FAULTS, section F.
- {id: F1, via: openai litellm:openai, status: 400, kind: context_overflow, limit: 131072,
   body: {error: {message: "This model's maximum context length is 131072 tokens. However, you requested 140000",
   code: context_length_exceeded}}}
- {id: F2, via: anthropic litellm:anthropic, status: 400, kind: context_overflow, limit: 200000, prompt: 210000,
   body: {type: error, error: {type: invalid_request_error, message: "prompt is too long: 210000 tokens > 200000
   maximum"}, request_id: req_1}}
- {id: F3, via: openai litellm:openai litellm:lm_studio, status: 400, kind: context_overflow, limit: 4096, prompt: 6031,
   body: {error: {message: "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing
   it", code: 400, type: exceed_context_size_error, n_prompt_tokens: 6031, n_ctx: 4096}}}
- {id: F4, via: openai litellm:openai anthropic litellm:anthropic, status: 413, kind: payload_too_large,
   body: "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body><center><h1>413 Request
   Entity Too Large</h1></center></body></html>"}
- {id: F4-empty, via: openai litellm:openai anthropic litellm:anthropic, status: 413, kind: payload_too_large,
   body: ""}
- {id: F4-no-status, via: openai litellm:openai, status: 400, kind: payload_too_large,
   body: {error: {message: "request entity too large"}}}
- {id: F5, via: anthropic litellm:anthropic, status: 429, kind: long_context_tier,
   body: {type: error, error: {type: rate_limit_error, message: "Extra usage is required for long context
   requests."}, request_id: req_1}}
- {id: F6, via: openai litellm:openai litellm:dashscope, status: 400, kind: output_cap,
   body: {error: {message: "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 65536]",
   type: invalid_request_error}}}
- {id: F7, via: openai litellm:openai, status: 400, kind: resource_limit,
   body: {error: {message: "Prefill memory guard rejected this prompt: Prefill would require ~55.12 GB peak but the
   ceiling is 49.25 GB. Raise the limit, or reduce context length. (prompt 5700 tokens)", type:
   invalid_request_error, code: null}}}
- {id: F8, via: openai litellm:openai anthropic litellm:anthropic, status: 400, kind: unknown,
   body: {error: {message: Error}}}
- {id: F8-text, via: openai litellm:openai anthropic litellm:anthropic, status: 400, kind: unknown,
   body: Error}
- {id: F9-rate, via: openai litellm:openai anthropic litellm:anthropic, status: 429, kind: rate_limit,
   body: {error: {message: "slow down"}}}
- {id: F9-500, via: openai litellm:openai anthropic litellm:anthropic, status: 500, kind: server_error,
   body: {error: {message: "out of order"}}}
- {id: F9-503, via: openai litellm:openai anthropic litellm:anthropic, status: 503, kind: overloaded,
   body: {error: {message: "come back later"}}}
- {id: F10, via: openai litellm:openai, status: 400, kind: context_overflow,
   body: {error: {message: "Your input exceeds the context window of this model. Please adjust your input and try
   again.", type: invalid_request_error, code: context_length_exceeded, param: input}}}
# OpenAI and Azure.
- {id: openai-old, via: openai litellm:openai,
   status: 400, kind: context_overflow, limit: 4097, prompt: 4012, output: 256,
   body: {error: {message: "This model's maximum context length is 4097 tokens. However, you requested 4268 tokens
   (4012 in the messages, 256 in the completion). Please reduce the length of the messages or completion.", code:
   context_length_exceeded}}}
- {id: openai-functions, via: openai litellm:openai,
   status: 400, kind: context_overflow, limit: 8192, prompt: 7413, output: 800,
   body: {error: {message: "This model's maximum context length is 8192 tokens. However, you requested 8213 tokens
   (6683 in the messages, 730 in the functions, and 800 in the completion)."}}}
- {id: openai-prompt, via: openai litellm:openai,
   status: 400, kind: context_overflow, limit: 8191, prompt: 8238, output: 0,
   body: {error: {message: "This model's maximum context length is 8191 tokens, however you requested 8238 tokens
   (8238 in your prompt; 0 for the completion)."}}}
- {id: azure-resulted, via: openai litellm:openai, status: 400, kind: context_overflow, limit: 128000, prompt: 192041,
   body: {error: {message: "This model's maximum context length is 128000 tokens. However, your messages resulted
   in 192041 tokens. Please reduce the length of the messages.", type: invalid_request_error, param: messages,
   code: context_length_exceeded}}}
- {id: azure-configured, via: openai litellm:openai, status: 400, kind: context_overflow, limit: 272000, prompt: 282537,
   body: {error: {message: "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in
   282537 tokens. Please reduce the length of the messages."}}}
- {id: openai-code-only, via: openai, status: 400, kind: context_overflow,
   body: {error: {message: No., code: context_length_exceeded}}}
- {id: openai-tpm, via: openai litellm:openai, status: 429, kind: rate_limit,
   body: {error: {message: "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit
   30000, Requested 61337. The input or output tokens must be reduced in order to run successfully.", type: tokens,
   code: rate_limit_exceeded}}}
- {id: openai-quota, via: openai litellm:openai, status: 429, kind: quota,
   body: {error: {message: "You exceeded your current quota, please check your plan and billing details.", type:
   insufficient_quota, code: insufficient_quota}}}
- {id: openai-cap, via: openai litellm:openai, status: 400, kind: output_cap,
   body: {error: {message: "max_tokens is too large: 20000. This model supports at most 16384 completion tokens,
   whereas you provided 20000.", type: invalid_request_error, param: max_tokens}}}
- {id: openai-string, via: openai litellm:openai, status: 400, kind: payload_too_large,
   body: {error: {message: "Invalid 'messages[0].content': string too long. Expected a string with maximum length
   1048576, but got a string with length 2000000 instead.", code: string_above_max_length}}}
- {id: openai-user, via: openai litellm:openai, status: 400, kind: unknown,
   body: {error: {message: "Invalid 'user': string too long. Expected a string with maximum length 64, but got a
   string with length 90 instead.", code: string_above_max_length}}}
- {id: openai-key, via: openai litellm:openai, status: 401, kind: authentication,
   body: {error: {message: "Incorrect API key provided.", code: invalid_api_key}}}
# Anthropic.
- {id: claude-sum, via: anthropic litellm:anthropic,
   status: 400, kind: context_overflow, limit: 200000, prompt: 190000, output: 20000,
   body: {type: error, error: {type: invalid_request_error, message: "input length and `max_tokens` exceed context
   limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again"}, request_id: req_1}}
- {id: claude-413, via: anthropic litellm:anthropic, status: 413, kind: payload_too_large,
   body: {type: error, error: {type: request_too_large, message: "Request exceeds the maximum size"}, request_id:
   req_1}}
- {id: claude-beta, via: anthropic litellm:anthropic, status: 400, kind: long_context_tier,
   body: {type: error, error: {type: invalid_request_error, message: "The long context beta is not yet available
   for this subscription."}, request_id: req_1}}
- {id: claude-cap, via: anthropic litellm:anthropic, status: 400, kind: output_cap,
   body: {type: error, error: {type: invalid_request_error, message: "max_tokens: 9999999 > 64000, which is the
   maximum allowed number of output tokens for claude-x"}, request_id: req_1}}
- {id: claude-busy, via: anthropic litellm:anthropic, status: 529, kind: overloaded,
   body: {type: error, error: {type: overloaded_error, message: Overloaded}, request_id: req_1}}
- {id: claude-rate, via: anthropic litellm:anthropic, status: 429, kind: rate_limit,
   body: {type: error, error: {type: rate_limit_error, message: "This request would exceed your organization's rate
   limit of 40,000 input tokens per minute."}, request_id: req_1}}
- {id: claude-image, via: anthropic litellm:anthropic, status: 400, kind: payload_too_large,
   body: {type: error, error: {type: invalid_request_error, message: "messages.1.content.0.image.source.base64:
   image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"}, request_id: req_1}}
# Bedrock.
- {id: bedrock, via: boto litellm:bedrock, status: 400, kind: context_overflow,
   body: {message: "Input is too long for requested model."}}
- {id: bedrock-claude, via: boto litellm:bedrock, status: 400, kind: context_overflow, limit: 200000, prompt: 200049,
   body: {message: "The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum"}}
- {id: bedrock-rate, via: boto litellm:bedrock, status: 429, kind: rate_limit,
   body: {message: "Too many tokens, please wait before trying again."}}
- {id: bedrock-cap, via: boto litellm:bedrock, status: 400, kind: output_cap,
   body: {message: "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum
   tokens value that is lower than 4096."}}
# Gemini and Vertex.
- {id: gemini, via: openai litellm:openai litellm:gemini,
   status: 400, kind: context_overflow, limit: 1048576, prompt: 1200000,
   body: {error: {message: "The input token count (1200000) exceeds the maximum number of tokens allowed
   (1048576).", code: 400, status: INVALID_ARGUMENT}}}
- {id: gemini-short, via: openai litellm:gemini, status: 400, kind: context_overflow, limit: 1048576,
   body: {error: {message: "The input token count exceeds the maximum number of tokens allowed (1048576).", code:
   400, status: INVALID_ARGUMENT}}}
- {id: gemini-rate, via: openai litellm:gemini, status: 429, kind: rate_limit,
   body: {error: {message: "You exceeded your current quota. * Quota exceeded for metric:
   generate_content_free_tier_input_token_count, limit: 250000\nPlease retry in 20s.", code: 429, status:
   RESOURCE_EXHAUSTED}}}
# Others that speak as OpenAI does.
- {id: openrouter, via: openai litellm:openrouter,
   status: 400, kind: context_overflow, limit: 131072, prompt: 10535, output: 131072,
   body: {error: {message: "This endpoint's maximum context length is 131072 tokens. However, you requested about
   141607 tokens (10535 of text input, 131072 in the output). Please reduce the length of either one.", code:
   400}}}
- {id: openrouter-tools, via: openai litellm:openrouter,
   status: 400, kind: context_overflow, limit: 204800, prompt: 85432, output: 120000,
   body: {error: {message: "This endpoint's maximum context length is 204800 tokens. However, you requested about
   205432 tokens (81684 of text input, 3748 of tool input, 120000 in the output)."}}}
- {id: openrouter-input, via: openai litellm:openrouter,
   status: 400, kind: context_overflow, limit: 32768, prompt: 42832,
   body: {error: {message: "This endpoint's maximum context length is 32768 tokens. However, you requested about
   42832 tokens (42832 of text input)."}}}
- {id: openrouter-credits, via: openai litellm:openrouter, status: 402, kind: quota,
   body: {error: {message: "This request requires more credits, or fewer max_tokens. You requested up to 65536
   tokens, but can only afford 2666.", code: 402}}}
- {id: mistral, via: openai litellm:mistral, status: 400, kind: context_overflow, limit: 32768, prompt: 40965,
   body: {object: error, message: "Prompt contains 40965 tokens and 0 draft tokens, too large for model with 32768
   maximum context length", type: invalid_request_prompt, code: "3051"}}
- {id: deepseek, via: openai litellm:deepseek,
   status: 400, kind: context_overflow, limit: 65536, prompt: 62247, output: 4096,
   body: {error: {message: "This model's maximum context length is 65536 tokens. However, you requested 66343
   tokens (62247 in the messages, 4096 in the completion).", type: invalid_request_error, code:
   invalid_request_error}}}
- {id: deepseek-cap, via: openai litellm:deepseek, status: 400, kind: output_cap,
   body: {error: {message: "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", type:
   invalid_request_error}}}
- {id: groq, via: openai litellm:groq, status: 400, kind: context_overflow,
   body: {error: {message: "Please reduce the length of the messages or completion.", type: invalid_request_error,
   param: messages, code: context_length_exceeded}}}
- {id: groq-tpm, via: openai litellm:openai litellm:groq, status: 413, kind: rate_limit,
   body: {error: {message: "Request too large for model `llama` in organization `org` service tier `on_demand` on
   tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.", type:
   tokens, code: rate_limit_exceeded}}}
- {id: groq-cap, via: openai litellm:groq, status: 400, kind: output_cap,
   body: {error: {message: "`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens`
   is less than the `context_window` for this model", type: invalid_request_error}}}
- {id: xai, via: openai litellm:xai, status: 400, kind: context_overflow, limit: 131072, prompt: 136973,
   body: {code: invalid-argument, error: "This model's maximum prompt length is 131072 but the request contains
   136973 tokens."}}
- {id: cohere, via: openai litellm:cohere_chat, status: 400, kind: context_overflow, limit: 4081, prompt: 4292,
   body: {message: "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try
   using a shorter prompt."}}
- {id: cohere-cap, via: openai litellm:cohere_chat, status: 400, kind: output_cap,
   body: {message: "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this
   model"}}
- {id: together, via: openai litellm:together_ai,
   status: 422, kind: context_overflow, limit: 2048, prompt: 2019, output: 30,
   body: {error: {message: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2019
   `inputs` tokens and 30 `max_new_tokens`"}}}
- {id: fireworks, via: openai litellm:fireworks_ai, status: 400, kind: context_overflow, limit: 32767, prompt: 40177,
   body: {error: {object: error, type: invalid_request_error, code: invalid_request_error, message: "The prompt is
   too long: 40177, model maximum context length: 32767"}}}
- {id: alibaba, via: openai litellm:dashscope, status: 400, kind: context_overflow, limit: 30720,
   body: {error: {message: "Range of input length should be [1, 30720]", code: invalid_parameter_error}}}
- {id: copilot, via: openai litellm:openai, status: 400, kind: context_overflow, limit: 128000, prompt: 146270,
   body: {error: {message: "prompt token count of 146270 exceeds the limit of 128000", code:
   model_max_prompt_tokens_exceeded}}}
# Servers of one's own.
- {id: vllm-asked, via: openai litellm:hosted_vllm,
   status: 400, kind: context_overflow, limit: 4096, prompt: 2778, output: 8000,
   body: {error: {message: "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum
   context length is 4096 tokens and your request has 2778 input tokens (8000 > 4096 - 2778).", type:
   BadRequestError, code: 400}}}
- {id: vllm-at-least, via: openai litellm:hosted_vllm,
   status: 400, kind: context_overflow, limit: 128000, output: 65535,
   body: {error: {message: "This model's maximum context length is 128000 tokens. However, you requested 65535
   output tokens and your prompt contains at least 62466 input tokens, for a total of at least 128001 tokens."}}}
- {id: vllm-passed, via: openai litellm:hosted_vllm, status: 400, kind: context_overflow, limit: 131072, output: 64000,
   body: {error: {message: "You passed 67073 input tokens and requested 64000 output tokens. However, the model's
   context length is only 131072 tokens, resulting in a maximum input length of 67072 tokens."}}}
- {id: vllm-decoder, via: openai litellm:hosted_vllm, status: 400, kind: context_overflow, limit: 32768, prompt: 40000,
   body: {object: error, message: "The decoder prompt (length 40000) is longer than the maximum model length of
   32768.", code: 400}}
- {id: sglang, via: openai litellm:openai,
   status: 400, kind: context_overflow, limit: 64000, prompt: 7897, output: 64000,
   body: {object: error, message: "Requested token count exceeds the model's maximum context length of 64000
   tokens. You requested a total of 71897 tokens: 7897 tokens from the input messages and 64000 tokens for the
   completion.", code: 400}}
- {id: sglang-input, via: openai litellm:openai, status: 400, kind: context_overflow, limit: 40960, prompt: 61709,
   body: {object: error, message: "The input (61709 tokens) is longer than the model's context length (40960
   tokens).", code: 400}}
- {id: tgi, via: openai litellm:openai litellm:huggingface,
   status: 422, kind: context_overflow, limit: 4096, prompt: 3997, output: 100,
   body: {error: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3997 `inputs`
   tokens and 100 `max_new_tokens`", error_type: validation}}
- {id: tgi-cap, via: openai litellm:openai, status: 422, kind: output_cap,
   body: {error: "Input validation error: `max_new_tokens` must be <= 192", error_type: validation}}
- {id: llama.cpp-old, via: openai litellm:openai, status: 400, kind: context_overflow, limit: 256, prompt: 1407,
   body: {error: {message: "the request exceeds the available context size. try increasing the context size or
   enable context shift", code: 400, type: exceed_context_size_error, n_prompt_tokens: 1407, n_ctx: 256}}}
- {id: ollama, via: openai litellm:openai litellm:ollama_chat, status: 400, kind: context_overflow,
   body: {error: "the input length exceeds maximum context length"}}
- {id: ollama-by, via: openai litellm:ollama_chat, status: 400, kind: context_overflow,
   body: {error: "prompt too long; exceeded max context length by 17 tokens"}}
- {id: ollama-memory, via: openai litellm:ollama_chat, status: 500, kind: resource_limit,
   body: {error: "model requires more system memory (8.4 GiB) than is available (3.2 GiB)"}}
- {id: lmstudio, via: openai litellm:lm_studio, status: 400, kind: context_overflow, limit: 7866, prompt: 10136,
   body: {error: "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded
   with context length of only 7866 tokens, which is not enough."}}
- {id: lmstudio-n-keep, via: openai litellm:lm_studio, status: 400, kind: context_overflow, limit: 4096, prompt: 10247,
   body: {error: "The number of tokens to keep from the initial prompt is greater than the context length (n_keep:
   10247 >= n_ctx: 4096)."}}
"""
"""Refusals as they go over the wire, the clients that get them, and what they mean (None is what has no key)."""

ROWS = yaml.safe_load(REFUSALS)


@pytest.fixture(scope="module")
def litellm() -> ModuleType:
    """litellm, imported once and only when a test needs it: it takes seconds."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    return litellm


@pytest.fixture(scope="module")
def shared() -> Iterator[ProviderServer]:
    with serving(Answer()) as server:
        yield server


def ask_openai(url: str, **more: Any) -> Any:
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0, timeout=more.pop("timeout", 10))
    with client:
        answer = client.chat.completions.create(model="m", messages=MESSAGES, **more)
        return list(answer) if more.get("stream") else answer


def ask_anthropic(url: str, **more: Any) -> Any:
    with anthropic.Anthropic(api_key="none", base_url=url, max_retries=0, timeout=more.pop("timeout", 10)) as client:
        return client.messages.create(model="m", messages=MESSAGES, max_tokens=5)


def ask_boto(url: str) -> Any:
    boto3 = pytest.importorskip("boto3")
    config = pytest.importorskip("botocore.config").Config(retries={"total_max_attempts": 1})
    client = boto3.client(
        "bedrock-runtime",
        "us-east-1",
        endpoint_url=url,
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=config,
    )
    return client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "Hello."}]}])


def ask_litellm(litellm: ModuleType, provider: str, url: str, **more: Any) -> Any:
    bare = provider in ("anthropic", "bedrock", "cohere_chat", "gemini", "huggingface", "ollama_chat")
    name = "anthropic.claude-3-haiku-20240307-v1:0" if provider == "bedrock" else "m"
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"}
    answer = litellm.completion(
        model=f"{provider}/{name}",
        messages=MESSAGES,
        api_base=url if bare else f"{url}/v1",
        max_retries=0,
        num_retries=0,
        timeout=more.pop("timeout", 10),
        **(keys if provider == "bedrock" else {"api_key": "none"}),
        **more,
    )
    return list(answer) if more.get("stream") else answer


def raised(call: Callable[..., Any], *arguments: Any, **more: Any) -> BaseException:
    try:
        answer = call(*arguments, **more)
    except Exception as error:
        return error
    raise AssertionError(f"there was an answer: {answer}")


def ask(client: str, url: str, request: pytest.FixtureRequest, **more: Any) -> Any:
    """The answer that a client gets, or what it raises."""
    name, _, provider = client.partition(":")
    if name == "litellm":
        return ask_litellm(request.getfixturevalue("litellm"), provider, url, **more)
    return {"openai": ask_openai, "anthropic": ask_anthropic, "boto": ask_boto}[name](url, **more)


@pytest.mark.parametrize(
    ("row", "client"),
    [pytest.param(row, client, id=f"{row['id']}-{client}") for row in ROWS for client in row["via"].split()],
)
def test_a_refusal_means_the_same_through_every_client(
    row: dict[str, Any], client: str, shared: ProviderServer, request: pytest.FixtureRequest
) -> None:
    shared.answers[:] = [Answer(row["status"], row["body"])]
    error = raised(ask, client, shared.url, request)
    meaning = TABLE.classify(error)
    found = (meaning.kind, meaning.limit, meaning.prompt_tokens, meaning.output_tokens)
    expected = (row["kind"], row.get("limit"), row.get("prompt"), row.get("output"))
    assert found == expected, f"{meaning}\n{type(error)}: {error}"
    assert meaning.status == row["status"]
    assert (meaning.pattern is None) == (row["kind"] == "unknown" and "user" not in row["id"])


ALL = ["openai", "anthropic", "litellm:openai", "litellm:anthropic"]


@pytest.mark.parametrize("client", ALL)
def test_the_message_is_the_providers_own(client: str, shared: ProviderServer, request: pytest.FixtureRequest) -> None:
    shared.answers[:] = [Answer(400, {"error": {"message": "It is\nnot possible. " + "x" * 400, "type": "odd"}})]
    message = TABLE.classify(raised(ask, client, shared.url, request)).message
    assert message.startswith("It is not possible. xxx")
    assert len(message) == 300


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_the_message_of_a_proxys_page_is_its_text(
    client: str, shared: ProviderServer, request: pytest.FixtureRequest
) -> None:
    shared.answers[:] = [Answer(413, "<html><head><title>413 Too Large</title></head>\n<body>nginx</body></html>")]
    assert TABLE.classify(raised(ask, client, shared.url, request)).message == "413 Too Large nginx"


@pytest.mark.parametrize("client", ["openai", "anthropic", "litellm:openai", "litellm:anthropic"])
def test_nobody_answers(client: str, request: pytest.FixtureRequest) -> None:
    with serving(Answer()) as server:
        url = server.url
    assert TABLE.classify(raised(ask, client, url, request)).kind == "network"


@pytest.mark.parametrize("client", ALL)
def test_a_tls_failure(client: str, shared: ProviderServer, request: pytest.FixtureRequest) -> None:
    url = shared.url.replace("http:", "https:")
    assert TABLE.classify(raised(ask, client, url, request)).kind == "network"


@pytest.mark.parametrize("client", ALL)
def test_an_answer_that_takes_too_long(client: str, request: pytest.FixtureRequest) -> None:
    with serving(Answer(delay=0.6)) as server:
        assert TABLE.classify(raised(ask, client, server.url, request, timeout=0.15)).kind == "timeout"


@pytest.mark.parametrize("client", ["openai", "litellm:openai"])
def test_a_stream_that_fails_on_its_way(client: str, shared: ProviderServer, request: pytest.FixtureRequest) -> None:
    shared.answers[:] = [openai_stream(breaks_off=True)]
    assert TABLE.classify(raised(ask, client, shared.url, request, stream=True)).kind == "network"
    refusal = {"message": "This model's maximum context length is 4096 tokens.", "code": 400}
    shared.answers[:] = [openai_stream(error={"error": refusal})]
    meaning = TABLE.classify(raised(ask, client, shared.url, request, stream=True))
    assert (meaning.kind, meaning.limit, meaning.status) == ("context_overflow", 4096, 400)


def test_the_server_answers_when_it_does_not_refuse(shared: ProviderServer, request: pytest.FixtureRequest) -> None:
    shared.answers[:] = [openai_answer("Yes.")]
    assert ask("openai", shared.url, request).choices[0].message.content == "Yes."
    assert ask("litellm:openai", shared.url, request).usage.prompt_tokens == 11
    shared.answers[:] = [anthropic_answer("Yes.")]
    assert ask("anthropic", shared.url, request).content[0].text == "Yes."
    shared.answers[:] = [openai_stream(["Y", "es."])]
    chunks = [chunk for chunk in ask("openai", shared.url, request, stream=True) if chunk.choices]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Yes."
    assert chunks[-1].choices[0].finish_reason == "stop"


# httpx alone, and exceptions of no client.


def ask_httpx(url: str, **more: Any) -> Any:
    return httpx.post(url, json={}, trust_env=False, **more).raise_for_status()


def test_httpx_alone(shared: ProviderServer) -> None:
    shared.answers[:] = [Answer(400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})]
    meaning = TABLE.classify(raised(ask_httpx, shared.url))
    assert meaning == ProviderError(
        "context_overflow",
        400,
        200000,
        210000,
        None,
        meaning.pattern,
        "prompt is too long: 210000 tokens > 200000 maximum",
    )
    shared.answers[:] = [Answer(413)]
    assert TABLE.classify(raised(ask_httpx, shared.url)).kind == "payload_too_large"
    assert TABLE.classify(raised(ask_httpx, shared.url.replace("http:", "https:"))).kind == "network"
    with serving(Answer(delay=0.6)) as server:
        assert TABLE.classify(raised(ask_httpx, server.url, timeout=0.1)).kind == "timeout"
    assert TABLE.classify(raised(ask_httpx, server.url)).kind == "network"


def test_a_response_that_was_not_read_is_not_read(shared: ProviderServer) -> None:
    shared.answers[:] = [Answer(400, {"error": {"message": "maximum context length is 4096"}})]
    with httpx.Client(trust_env=False) as client, client.stream("POST", shared.url, json={}) as response:
        meaning = TABLE.classify(raised(response.raise_for_status))
        assert not response.is_stream_consumed
    assert (meaning.kind, meaning.status) == ("unknown", 400)


class Refused(Exception):
    """An exception with any attributes."""

    def __init__(self, text: str = "", /, **attributes: Any) -> None:
        super().__init__(text)
        self.__dict__.update(attributes)


def test_a_conversation_that_the_server_repeats_says_nothing() -> None:
    talk = [{"role": "user", "content": "What does 'maximum context length is 4096 tokens' mean?"}]
    body = {"detail": [{"loc": ["body", "tools"], "msg": "Field required", "input": {"messages": talk}}]}
    meaning = TABLE.classify(Refused(f"Error code: 422 - {body}", status_code=422, body=body))
    assert (meaning.kind, meaning.message) == ("unknown", "Field required")


@pytest.mark.parametrize(
    ("number", "tokens"),
    [
        ("131072", 131072),
        ("131,072", 131072),
        ("131_072,", 131072),
        ("200k", 200_000),
        ("1.5M", 1_500_000),
        ("0", None),
    ],
)
def test_how_numbers_are_written(number: str, tokens: int | None) -> None:
    own = ErrorPattern(id="own", kind="context_overflow", pattern=r"only (?P<limit>\S+)")
    assert ErrorTable([own]).classify(Refused(f"only {number}")).limit == tokens


# What the clients above were not refused with: id of the entry, text, and the numbers in it.
WORDINGS: list[tuple[str, str, int | None, int | None, int | None]] = [
    (
        "overflow_prompt_contains",
        "This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens and your prompt "
        "contains 3500 input tokens.",
        4096,
        3500,
        1000,
    ),
    ("overflow_too_large_for_model", "Too large for model with 32768 maximum context length", 32768, None, None),
    (
        "overflow_total_cannot_exceed",
        "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354.",
        2048,
        None,
        None,
    ),
    (
        "overflow_input_length",
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        131040,
        131393,
        None,
    ),
    (
        "overflow_input_length",
        "Input length (265330) exceeds model's maximum context length (262144).",
        262144,
        265330,
        None,
    ),
    ("overflow_inputs", "`inputs` must have less than 4096 tokens. Given: 5000", 4096, 5000, None),
    (
        "overflow_available_size",
        "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it",
        4096,
        6031,
        None,
    ),
    ("overflow_requested_tokens", "Requested tokens (516) exceed context window of 512", 512, 516, None),
    ("overflow_limit_of", "Input prompt (2664 tokens) is too long and exceeds limit of 2048", 2048, 2664, None),
    (
        "overflow_max_input_tokens",
        "Too many input tokens: Max input tokens: 8192, request input token count: 9000",
        8192,
        9000,
        None,
    ),
    ("overflow_current_length", "Current length is 9000 while limit is 8192", 8192, 9000, None),
    (
        "overflow_configured_size",
        "Prompt has 300,000 tokens, but the configured context size is 131,072 tokens",
        131072,
        300000,
        None,
    ),
    (
        "overflow_model_token_limit",
        "Your request exceeded model token limit: 262144 (requested: 300000)",
        262144,
        None,
        None,
    ),
    ("overflow_configured_limit", "Input tokens exceed the configured limit of 922000 tokens", 922000, None, None),
    ("overflow_nothing_left", "max_tokens must be at least 1, got -1234.", None, None, None),
    ("overflow_wording", "invalid params, context window exceeds limit (2013)", None, None, None),
    ("overflow_input_too_long", "Number of input tokens exceeds maximum length.", None, None, None),
    ("output_invalid", "Invalid 'max_output_tokens': integer above maximum value", None, None, None),
    ("output_at_most", "max_output_tokens is limited to 8192 for this model", None, None, None),
    ("memory_guard", "Memory limit exceeded during prefill: 26.0GB exceeds ceiling 26.0GB", None, None, None),
    ("rate_limit", "status = StatusCode.RESOURCE_EXHAUSTED", None, None, None),
]


@pytest.mark.parametrize(("entry", "text", "limit", "prompt", "output"), WORDINGS)
def test_other_wordings(entry: str, text: str, limit: int | None, prompt: int | None, output: int | None) -> None:
    meaning = TABLE.classify(Refused(text))
    assert (meaning.pattern, meaning.limit, meaning.prompt_tokens, meaning.output_tokens) == (
        entry,
        limit,
        prompt,
        output,
    )


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Refused(status_code=402), "quota"),
        (Refused(body={"code": "prefill_memory_exceeded"}), "resource_limit"),
        (Refused(code="UNAUTHENTICATED"), "authentication"),
        (Refused(response={"Error": {"Code": "ThrottlingException", "Message": "No."}}), "rate_limit"),
        (Refused(body={"__type": "com.amazon#ThrottlingException"}), "rate_limit"),
        (Refused(body='[{"error": {"status": "RESOURCE_EXHAUSTED"}}]'), "rate_limit"),
        (Refused(code=503), "overloaded"),
        (Refused(status="429"), "rate_limit"),
        (Refused(response=Refused(status_code=413)), "payload_too_large"),
        *(
            (type(name, (Exception,), {})("No."), kind)
            for name, kind in [
                ("ContextWindowExceededError", "context_overflow"),
                ("PermissionDeniedError", "authentication"),
                ("RateLimitError", "rate_limit"),
                ("ServiceUnavailableError", "overloaded"),
                ("BadGatewayError", "server_error"),
                ("TransportError", "network"),
            ]
        ),
        (TimeoutError(), "timeout"),
        (ConnectionResetError(), "network"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_codes_status_and_classes_wherever_they_stand(error: BaseException, kind: str) -> None:
    assert TABLE.classify(error).kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "Please reduce your context length next time",
        "context_window must be a number",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "tool call arguments too long",
        "'context_length'",
    ],
)
def test_words_that_overflows_have_too_are_no_overflow(text: str) -> None:
    assert TABLE.classify(Refused(text, status_code=400)).kind == "unknown"


def wrapped(cause: BaseException, wrapper: BaseException, *, explicit: bool) -> BaseException:
    try:
        try:
            raise cause
        except BaseException as error:
            if explicit:
                raise wrapper from error
            raise wrapper  # noqa: B904
    except BaseException as error:
        return error


OVERFLOW = Refused("", status_code=400, body={"error": {"message": "maximum context length is 4096 tokens"}})


@pytest.mark.parametrize("explicit", [True, False])
def test_a_wrapper_of_a_host_is_looked_through(explicit: bool) -> None:
    meaning = TABLE.classify(wrapped(OVERFLOW, RuntimeError("the model call failed"), explicit=explicit))
    assert (meaning.kind, meaning.limit, meaning.status) == ("context_overflow", 4096, 400)
    assert TABLE.classify(ExceptionGroup("tasks", [OVERFLOW])).limit == 4096


def test_what_an_exception_says_itself_counts_before_what_it_wraps() -> None:
    refusal = Refused("no", status_code=400, body={"error": {"message": "no"}})
    assert TABLE.classify(wrapped(OVERFLOW, refusal, explicit=True)).kind == "unknown"
    assert TABLE.classify(wrapped(OVERFLOW, Refused("no", status_code=429), explicit=True)).kind == "rate_limit"


def test_a_mistake_in_handling_a_refusal_is_not_that_refusal() -> None:
    assert TABLE.classify(wrapped(OVERFLOW, KeyError("choices"), explicit=False)).kind == "unknown"


def test_a_chain_that_has_no_end() -> None:
    first, second = RuntimeError("one"), RuntimeError("two")
    first.__cause__, second.__cause__ = second, first
    assert TABLE.classify(first) == ProviderError("unknown", None, None, None, None, None, "one")


# A policy's own entries.


def test_a_policys_own_entry_comes_before_the_shipped_ones() -> None:
    own = ErrorPattern(id="house", kind="output_cap", status=(400,), pattern="maximum context length")
    assert error_table([own]).classify(OVERFLOW).pattern == "house"
    elsewhere = Refused("maximum context length is 4096 tokens", status_code=500)
    assert error_table([own]).classify(elsewhere).kind == "context_overflow"  # one condition does not hold


@pytest.mark.parametrize(
    ("conditions", "matches"),
    [
        ({"status": (409,)}, True),
        ({"status": (400, 409), "codes": ("HOUSE_FULL",), "classes": ("Refused",), "pattern": "CROWDED"}, True),
        ({"status": (400,)}, False),
        ({"codes": ("house",)}, False),
        ({"codes": ("house_full",), "classes": ("OtherError",)}, False),
        ({"classes": ("Exception",)}, True),
        ({"status": (409,), "pattern": "empty"}, False),
    ],
)
def test_all_conditions_must_hold(conditions: dict[str, Any], matches: bool) -> None:
    table = ErrorTable([ErrorPattern(id="own", kind="overloaded", **conditions)])
    body = {"error": {"code": "house_full", "message": "The house is crowded."}}
    assert (table.classify(Refused(status_code=409, body=body)).pattern == "own") is matches


@pytest.mark.parametrize(
    ("entry", "message", "hint"),
    [
        ({}, "an entry without a condition matches every error", "give status, codes, classes or pattern"),
        ({"pattern": "("}, "no regular expression: missing ), unterminated subpattern at position 0", ""),
        ({"pattern": r"(?P<limt>\d+)"}, "unknown group 'limt'", "did you mean 'limit'?"),
        ({"pattern": r"(?P<zzz>\d+)"}, "unknown group 'zzz'", "the groups are limit, prompt, output, total"),
        ({"pattern": "x*"}, "the regular expression matches every text", ""),
    ],
)
def test_a_wrong_entry_is_refused(entry: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ErrorPattern.model_validate({"id": "own", "kind": "unknown", **entry})
    [error] = caught.value.errors()
    assert (error["type"], error["ctx"]["message"], error["ctx"]["hint"]) == ("mistake", message, hint)


@pytest.mark.parametrize(
    "entry", [{"kind": "overflow"}, {"status": [200]}, {"status": ["400"]}, {"pattern": " "}, {"code": ["x"]}]
)
def test_an_entry_of_the_wrong_form_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ErrorPattern.model_validate({"id": "own", "kind": "unknown", "codes": ["x"], **entry})


# Whatever the exception object is.

VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.binary(max_size=30)
    | st.just(object()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "detail", "errors", "x"]) | st.integers(), inner
        )
    ),
    max_leaves=8,
)
NAMES = ["status_code", "status", "code", "type", "body", "message", "response", "details", "text"]


class Hostile(Exception):
    """Everything that is looked at raises."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(name)

    def __str__(self) -> str:
        raise RecursionError


@given(st.dictionaries(st.sampled_from(NAMES), VALUES), st.text(max_size=50))
@settings(max_examples=200, deadline=None)
def test_classifying_never_raises(attributes: dict[str, Any], text: str) -> None:
    meaning = TABLE.classify(Refused(text, **attributes))
    assert isinstance(meaning.message, str)
    assert len(meaning.message) <= 300
    assert "\n" not in meaning.message
    meaning.message.encode()


def test_exceptions_that_cannot_be_looked_at() -> None:
    class Text(str):
        def __len__(self) -> int:
            raise ValueError

    circular: dict[str, Any] = {"message": 5}
    circular["error"] = circular["detail"] = [circular] * 30
    for error in (
        Hostile(),
        Refused(body=circular),
        Refused(body={"code": 10**5000}, status_code=10**5000),
        Refused(message=Text("x"), body=Text("x")),
        Refused("{" * 100_000),
        Refused("\ud800"),
        BaseException(),
    ):
        assert TABLE.classify(error).kind == "unknown"


def test_ctrl_c_is_not_swallowed() -> None:
    class Interrupted(Exception):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TABLE.classify(Interrupted())


@pytest.mark.parametrize(
    "filling", ["x", "maximum context length ", "1,", "you requested 1 tokens (", '{"a":', "<", " \n", "input ("]
)
def test_a_huge_body_takes_no_time(filling: str) -> None:
    huge = filling * (5_000_000 // len(filling))
    tail = " Your messages exceed the context window."
    errors = [Refused(huge + tail), Refused(status_code=400, body={"error": {"message": huge + tail, "more": huge}})]
    start = time.process_time()
    kinds = {TABLE.classify(error).kind for error in errors}
    assert time.process_time() - start < 2
    assert kinds == {"context_overflow"}
