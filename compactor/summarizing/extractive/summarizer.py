"""The offline summarizer: a summary from the facts of the folded messages, without a model."""

from compactor.extension.protocols import SummaryReply, SummaryRequest
from compactor.facts import recognize
from compactor.summarizing.extractive.candidates import candidates
from compactor.summarizing.extractive.carrying import carry
from compactor.summarizing.extractive.filling import fill
from compactor.summarizing.extractive.layout import layout_of
from compactor.summarizing.extractive.previous import read_back
from compactor.summarizing.extractive.salience import Salience


_SHARE = 0.6  # of what it replaces: a summary that is hardly shorter than that is not worth its losses
_READING = 10  # code points of tool output that are read for quotations, for each token of the summary


class ExtractiveSummarizer:
    """Fills the policy's headings by rule with lines that stand in the conversation. Deterministic, no network.

    Every line is a quotation or a count; the result is within ``request.budget_tokens`` whenever the bare headings
    are.
    """

    def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary of ``request.folded``, merged with ``request.previous`` where there is one."""
        layout = layout_of(request.sections)
        budget = _budget(request)
        facts = recognize(request.folded, budget * _READING)
        carried = carry(read_back(request.previous or "", layout), facts)
        pool = candidates(facts, len(request.folded), carried)
        salience = Salience(request.folded, request.focus)
        text = fill(layout, pool, salience, budget, request.counter)
        return SummaryReply(text, finish_reason="stop", model="extractive")

    async def asummarize(self, request: SummaryRequest) -> SummaryReply:
        """The same as ``summarize``."""
        return self.summarize(request)


def _budget(request: SummaryRequest) -> int:
    """The tokens to aim at: what was asked for, but never more than a share of what is replaced."""
    counter = request.counter
    replaced = counter.request(request.folded) + counter.text(request.previous or "")
    return min(request.budget_tokens, int(replaced * _SHARE))
