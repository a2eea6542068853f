"""The offline summarizer: a summary from the facts of the folded messages, without a model."""

from compactor.errors import SummarizerDeclined
from compactor.extension.protocols import SummaryReply, SummaryRequest
from compactor.facts import recognize
from compactor.summarizing.extractive.candidates import candidates, remembered
from compactor.summarizing.extractive.carrying import carry
from compactor.summarizing.extractive.filling import fill
from compactor.summarizing.extractive.layout import NOTHING, layout_of
from compactor.summarizing.extractive.previous import read_back
from compactor.summarizing.extractive.salience import Salience

_SHARE = 0.6  # of what is folded: a summary that is hardly shorter than that is not worth its losses
_UPDATE_SHARE = 0.3  # the same beside a previous summary, which is short already
_LONG_TOKEN = 10  # code points that a token has at most, on the average of a text
_READING = 6  # code points that are read in full, for each token of the summary; measured by forward recall


class ExtractiveSummarizer:
    """Fills the policy's headings by rule with lines that stand in the conversation. Deterministic, no network.

    Every line is a quotation or a count; the result is within ``request.budget_tokens`` whenever the bare headings
    are.
    """

    def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary of ``request.folded``, merged with ``request.previous`` where there is one.

        Raises ``SummarizerDeclined`` where there is nothing that it recognises.
        """
        layout = layout_of(request.sections)
        budget = _budget(request)
        facts = recognize(request.folded, budget * _READING)
        carried = carry(read_back(request.previous or "", layout), facts)
        pool = [*candidates(facts, len(request.folded), carried), *remembered(request.memory or "")]
        salience = Salience(request.folded, request.focus)
        # Where there is room for all that was carried over, little that is new pushes none of it out.
        roomy = bool(request.previous) and budget < request.budget_tokens
        text = fill(layout, pool, salience, budget, request.counter, carry=roomy)
        if not any(line.strip() not in ("", NOTHING) and not line.startswith("#") for line in text.splitlines()):
            raise SummarizerDeclined("nothing to extract: no commands, paths, errors or requests are recognised")
        return SummaryReply(text, finish_reason="stop", model="extractive")

    async def asummarize(self, request: SummaryRequest) -> SummaryReply:
        """The same as ``summarize``."""
        return self.summarize(request)


def _budget(request: SummaryRequest) -> int:
    """The tokens to aim at: what was asked for, but never more than a share of what is folded.

    The previous summary may keep its size: updates with little in them do not wear it away.
    """
    if not request.folded:
        return request.budget_tokens
    share = _UPDATE_SHARE if request.previous else _SHARE
    # Exact counts cost time: where the text is far longer than that, its length shows it.
    left = request.budget_tokens * _LONG_TOKEN / share
    for message in request.folded:
        left -= len(message.text)
        if left < 0:
            return request.budget_tokens
    kept = request.counter.text(request.previous) if request.previous else 0
    return min(request.budget_tokens, kept + int(request.counter.request(request.folded) * share))
