"""Acknowledgements, which contribute nothing, as tables of forms ("Do not acknowledge, echo, or confirm receipt").

A form is a whole text, without case, surplus white space and closing marks; a text that is put together of forms and
emoji is an acknowledgement, too. Users extend the table:
``Session(acknowledgements=[*sstp.ACKNOWLEDGEMENTS, "chi capisce"])``. A paraphrase, which says the same with an object
("I acknowledge receipt of your message"), is doubtful: it is told, and changes no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import chain


def _listed(forms: str) -> frozenset[str]:
    return frozenset(" ".join(form.split()) for form in forms.split(","))


FORMS: dict[str, str] = {
    "en": """
        +1?, 10-4, ack, acknowledged, agreed?, all clear?, aye?, cheers, confirmed?, confirming receipt, copy, copy
        that, done?, fine?, good?, got it, gotcha, great?, i acknowledge, i agree?, i see?, i understand?, i will?,
        i will wait?, i'll wait?, k?, kk?, looks good?, makes sense?, many thanks, message received, no problem?,
        noted, noted with thanks, np?, ok?, okay?, okey?, ok thanks?, on it?, perfect?, read, receipt acknowledged,
        receipt confirmed, received, right?, roger, roger that, sounds good?, sure?, sure thing?, ten-four, thank
        you, thanks, thanks a lot, thanks for the update, thx, ty, understood, will do?, will wait?, wilco, works
        for me?, yep?, yes?, you are welcome, yup?
    """,
    "de": """
        alles klar?, bestätigt?, danke, einverstanden?, erhalten, geht klar?, in ordnung?, notiert, verstanden
    """,
    "es": "confirmado?, de acuerdo?, entendido, gracias, muchas gracias, recibido, vale?",
    "fr": "bien reçu, c'est noté, compris, d'accord?, entendu, merci, noté",
    "it": "capito, d'accordo?, grazie, ricevuto, va bene?",
    "pt": "combinado?, entendido, obrigada, obrigado, recebido",
    "ja": "了解, 了解しました, 了解です, 承知しました, かしこまりました, ありがとうございます",
    "zh": "好的?, 收到, 明白, 谢谢, 了解",
    "ru": "понял, понятно, принято, спасибо, хорошо?",
}
"""Language -> its forms. English first. Those with a "?" can answer a question, as emoji can. The others say only that
it arrived, and answer one only where it asks for just that ("Have you received it?")."""

_MARKED = frozenset[str]().union(*map(_listed, FORMS.values()))
ANSWERS = frozenset(form[:-1] for form in _MARKED if form[-1] == "?")
"""The forms that can answer a question."""
ACKNOWLEDGEMENTS = ANSWERS | {form for form in _MARKED if form[-1] != "?"}
"""All forms of the table."""

MOST = 200
"""Characters of the longest text that can be doubtful."""

_WORDS = {
    "thing": (
        r"(?:(?:the|your|this|that|all|my|our) )?(?:last |latest |previous |new |full )?"
        r"(?:message|messages|request|query|question|task|assignment|delegation|intent|goal|instructions?|information"
        r"|info|details?|update|note|answer|reply|response|findings?|report|data|input|commit|decision|above|it)"
    ),
    "from": r"(?: from [\w.@-]+)?(?: (?:as |with )?(?:well|thanks|requested|below|above))?",
    "we": r"(?:i|we)",
    "will": r"(?:i|we)(?: will|'ll)",
    "have": r"(?:i|we)(?: have|'ve)?",
    "thanks": r"(?:many )?(?:thanks|thank you)(?: very much| so much| a lot)?",
    "it": r"(?:that |this |it )?",
}
"""Parts that several paraphrases share, by their names in the table of them."""

PARAPHRASES = (
    "{we}(?: hereby| have|'ve| fully| can| do)? ?(?:acknowledge|confirm)(?:d)?(?: the| having)?(?: safe)?"
    " ?(?:receipt|reception|received)(?: of {thing})?{from}",
    "{we}(?: hereby| have|'ve)? ?(?:acknowledge|acknowledged) {thing}{from}",
    "{have} ?(?:received|got|noted|seen|read)(?: and (?:understood|noted|read))? {thing}{from}",
    "{thing} (?:was |has been |is |are |were )?(?:well |duly )?(?:received|acknowledged|noted|understood){from}",
    "(?:confirming|acknowledging)(?: the)? (?:receipt(?: of {thing})?|{thing}){from}",
    "{thanks}(?: for {thing}){from}",
    "{we} (?:fully |completely )?(?:understand|agree)(?: (?:with )?{thing})?",
    "{will} (?:do (?:so|that|it)|get (?:right )?(?:on|to) it|look into it|take care of it)",
    "{it}(?:sounds|looks) (?:good|great|fine)(?: to me)?",
    "{it}(?:all )?makes (?:perfect )?sense(?: to me)?",
    "(?:that|this|it|all) is (?:clear|fine|understood)|fine (?:by|with) me",
    "(?:duly|well|safely|fully|all) (?:noted|received|understood)|(?:well )?received with thanks",
    "(?:{thing} )?(?:was |has been )?received and (?:logged|noted|understood|acknowledged)(?: {thing})?",
    "(?:i am|i'm|we are|we're|working|already working) on it",
    "{will} get back to you(?: shortly| soon)?",
    "(?:let me|i will|i'll) (?:look into|check|handle|take care of) (?:it|that|this)",
    "(?:(?:{will}|will) (?:do so|proceed|start|get started|begin|keep (?:it|that|this) in mind)|proceeding)"
    "(?: as (?:instructed|requested|asked|planned)| accordingly| now| right away| shortly)?",
    "{thanks} for (?:(?:clarifying|confirming|sharing|explaining)(?: (?:it|that|this))?|letting (?:me|us) know"
    "|(?:the|your) (?:clarification|confirmation|explanation|heads up|help"
    "|(?:detailed |quick )?(?:update|answer|reply|response)))",
    "(?:{we} )?(?:really |very much )?appreciate (?:it|that|this|the update|your help)",
    "(?:much|greatly) appreciated",
    "(?:nice|great|good) (?:work|job)(?: (?:everyone|all|team))?|(?:thanks|thank you) (?:all|everyone|team)",
)
"""Texts that say the same with an object, as regular expressions over a text as :func:`words` makes it."""

_PARAPHRASE = re.compile("|".join(f"(?:{one.format_map(_WORDS)})" for one in PARAPHRASES))
_MILD = _listed("""
    affirmative, alright, all right, awesome, clear, cool, crystal clear, excellent, good to know, happy to help,
    i confirm, my pleasure, nice, no worries, ready when you are, standing by, very well, well done, wonderful
""")
"""Texts that alone contribute nothing either, but may well mean more: doubtful, where it is the whole text."""
_STARTS = _listed("""
    i, we, i've, we've, i'll, we'll, the, your, this, that, all, my, our, last, latest, previous, new, full,
    message, messages, request, query, question, task, assignment, delegation, intent, goal, instruction,
    instructions, information, info, detail, details, update, note, answer, reply, response, finding, findings,
    report, data, input, commit, decision, above, it, confirming, acknowledging, many, thanks, thank, sounds,
    looks, makes, duly, well, safely, fully, received, fine, i'm, we're, working, already, let, will, do, proceed,
    proceeding, start, get, begin, keep, really, very, appreciate, much, greatly, nice, great, good
""") | {form.partition(" ")[0] for form in _MILD}
"""The words with which a paraphrase can begin."""
_RECEIPT = re.compile(r"\b(?:acknowledg|confirming|receipt|receiv|noted|got\b|read\b|thank)")
_PARTS = re.compile(r"[.!,;:\n\u3002\uff01\uff0c\u2014]+|\s+-+\s+|\s+and\s+(?=(?:will|thank|i|we|on)\b)")
_EMOJI = re.compile(
    "[\u203c\u2049\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff"
    "\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]+"  # with what joins and varies them
)


def words(text: str) -> str:
    """A text without case, surplus white space and closing marks: how texts are compared."""
    return " ".join(text.casefold().split()).strip(" .,!\u3002\uff01")


def is_acknowledgement(said: str, forms: frozenset[str] = ACKNOWLEDGEMENTS, question: str | None = None) -> bool:
    """True if a text, as :func:`words` returns it, consists only of acknowledgements and emoji; for the answer to a
    question, only if no part of it can be that answer."""
    starts, _, longest = _shape(forms)
    if not said or not _may_begin(said, starts):
        return False
    bare = said if said.isascii() else _EMOJI.sub(". ", said)
    if question is not None and bare != said:
        return False
    is_form = forms.__contains__ if question is None else partial(is_receipt, question=question, forms=forms)
    any_part = False
    for part in _parts(bare):  # the first one mostly decides
        any_part = True
        if not _is_combined(part, longest, is_form):
            return False
    return any_part or bare != said


def is_doubtful(
    text: str, forms: frozenset[str] = ACKNOWLEDGEMENTS, question: str | None = None, plain: str | None = None
) -> bool:
    """True if a text is put together of forms and paraphrases; where it answers a question, also whether it begins by
    saying that it arrived. plain: the text as :func:`words` makes it."""
    plain = words(text) if plain is None else plain
    if len(text) > MOST or not _may_begin(plain, _shape(forms)[1]):
        return False
    parts = _parts(plain)
    first = next(parts, None)
    if question is not None and not (first is not None and _is_receipt(first, question, forms)):
        return False
    return _PARAPHRASE.fullmatch(plain) is not None or (
        first is not None
        and all(part in forms or part in _MILD or _PARAPHRASE.fullmatch(part) for part in chain((first,), parts))
    )


def is_receipt(said: str, question: str, forms: frozenset[str] = ACKNOWLEDGEMENTS) -> bool:
    """True if a form, as :func:`words` makes it, answers no question: it says only that this one arrived, and the
    question does not ask for it by one of its words."""
    return said in forms and _is_receipt(said, question, forms)


def _is_receipt(said: str, question: str, forms: frozenset[str]) -> bool:
    if said in ANSWERS or (said not in forms and _RECEIPT.search(said) is None):
        return False
    asked = words(question)
    return not any(word in asked for word in said.split() if len(word) > 3 or not word.isascii())


def _parts(text: str) -> Iterator[str]:
    """The parts of a text that say something, each as :func:`words` makes it."""
    start = 0
    for gap in _PARTS.finditer(text):
        if part := words(text[start : gap.start()]):
            yield part
        start = gap.end()
    if part := words(text[start:]):
        yield part


def _is_combined(part: str, longest: int, is_form: Callable[[str], bool]) -> bool:
    """True if a text is one form, or several after one another; longest: the most words of one."""
    said = part.split(" ")
    ends = {0}
    for start in range(len(said)):
        if start in ends:
            stops = range(start + 1, min(start + longest, len(said)) + 1)
            ends.update(stop for stop in stops if is_form(" ".join(said[start:stop])))
    return len(said) in ends


@lru_cache(maxsize=8)
def _shape(forms: frozenset[str]) -> tuple[frozenset[str], frozenset[str], int]:
    """The words with which forms begin; these and those with which paraphrases do; how many words the longest form
    has."""
    starts = frozenset(re.split("[^0-9A-Za-z]", form, maxsplit=1)[0] for form in forms)
    return starts, starts | _STARTS, max((form.count(" ") + 1 for form in forms), default=0)


def _may_begin(plain: str, starts: frozenset[str]) -> bool:
    """False if a text surely begins with none of these words: most do, and looking closer takes longer."""
    start = plain.partition(" ")[0]
    return not (start.isalnum() and start.isascii()) or start in starts
