"""Acknowledgements, which contribute nothing, as a table of forms ("Do not acknowledge, echo, or confirm receipt").

A form is a whole text, without case, surplus white space and closing marks. Users extend the table:
``Session(acknowledgements=[*sstp.ACKNOWLEDGEMENTS, "chi capisce"])``. A text that is put together of forms, or says the
same with an object ("I acknowledge receipt of your message"), is doubtful: it is told, and changes no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache


def _listed(forms: str) -> frozenset[str]:
    return frozenset(" ".join(form.split()) for form in forms.split(","))


FORMS: dict[str, str] = {
    "en": """
        ack, acknowledged, agreed, all clear, confirmed, confirming receipt, copy, copy that, done, fine, good, got
        it, great, i acknowledge, i agree, i see, i understand, i will, looks good, makes sense, many thanks, message
        received, no problem, noted, noted with thanks, ok, okay, ok thanks, on it, perfect, read, receipt
        acknowledged, receipt confirmed, received, right, roger, roger that, sounds good, sure, sure thing, thank you,
        thanks, thanks for the update, understood, will do, wilco, works for me, yes, you are welcome
    """,
    "de": "alles klar, bestätigt, danke, einverstanden, erhalten, geht klar, in ordnung, notiert, verstanden",
    "es": "confirmado, de acuerdo, entendido, gracias, muchas gracias, recibido, vale",
    "fr": "bien reçu, c'est noté, compris, d'accord, entendu, merci, noté",
    "it": "capito, d'accordo, grazie, ricevuto, va bene",
    "pt": "combinado, entendido, obrigada, obrigado, recebido",
    "ja": "了解, 了解しました, 了解です, 承知しました, かしこまりました, ありがとうございます",
    "zh": "好的, 收到, 明白, 谢谢, 了解",
    "ru": "понял, понятно, принято, спасибо, хорошо",
}
"""Language -> its forms. English first."""

ACKNOWLEDGEMENTS = frozenset[str]().union(*map(_listed, FORMS.values()))
"""All forms of the table."""

ANSWERS = _listed("""
    agreed, all clear, confirmed, done, fine, good, great, i agree, i see, i understand, i will, looks good, makes
    sense, no problem, ok, okay, ok thanks, on it, perfect, right, sounds good, sure, sure thing, will do, works
    for me, yes, alles klar, bestätigt, einverstanden, geht klar, in ordnung, confirmado, de acuerdo, vale,
    d'accord, d'accordo, va bene, combinado, 好的, хорошо
""")
"""The forms that can answer a question. The others of the table say only that it arrived, and answer one only where it
asks for just that ("Have you received it?")."""

MOST = 200
"""Characters of the longest text that can be doubtful."""
_THING = (
    r"(?:(?:the|your|this|that|all|my|our) )?(?:last |latest |previous |new |full )?"
    r"(?:message|messages|request|query|question|task|assignment|delegation|intent|goal|instructions?|information|info"
    r"|details?|update|note|answer|reply|response|findings?|report|data|input|commit|decision|above|it)"
)
_FROM = r"(?: from [\w.@-]+)?(?: (?:as |with )?(?:well|thanks|requested|below|above))?"
_PARAPHRASES = re.compile(
    rf"(?:i|we)(?: hereby| have|'ve| fully| can| do)? ?(?:acknowledge|confirm)(?:d)?(?: the| having)?"
    rf"(?: safe)? ?(?:receipt|reception|received)(?: of {_THING})?{_FROM}"
    rf"|(?:i|we)(?: hereby| have|'ve)? ?(?:acknowledge|acknowledged) {_THING}{_FROM}"
    rf"|(?:i|we)(?: have|'ve)? ?(?:received|got|noted|seen|read)(?: and (?:understood|noted|read))? {_THING}{_FROM}"
    rf"|{_THING} (?:was |has been |is |are |were )?(?:well |duly )?(?:received|acknowledged|noted|understood){_FROM}"
    rf"|(?:confirming|acknowledging)(?: the)? (?:receipt(?: of {_THING})?|{_THING}){_FROM}"
    rf"|(?:many )?(?:thanks|thank you)(?: very much| so much| a lot)?(?: for {_THING}){_FROM}"
    rf"|(?:i|we) (?:fully |completely )?(?:understand|agree)(?: (?:with )?{_THING})?"
    rf"|(?:i|we)(?: will|'ll) (?:do (?:so|that|it)|get (?:right )?(?:on|to) it|look into it|take care of it)"
    r"|(?:that |this |it )?(?:sounds|looks) (?:good|great|fine)(?: to me)?"
    r"|(?:that |this |it )?(?:all )?makes (?:perfect )?sense(?: to me)?"
    r"|(?:that|this|it|all) is (?:clear|fine|understood)|fine (?:by|with) me"
    r"|(?:duly|well|safely|fully|all) (?:noted|received|understood)|(?:well )?received with thanks"
    rf"|(?:{_THING} )?(?:was |has been )?received and (?:logged|noted|understood|acknowledged)(?: {_THING})?"
    r"|(?:i am|i'm|we are|we're|working|already working) on it"
    r"|(?:i|we)(?: will|'ll) get back to you(?: shortly| soon)?"
    r"|(?:let me|i will|i'll) (?:look into|check|handle|take care of) (?:it|that|this)"
    r"|(?:(?:(?:i|we)(?: will|'ll)|will) (?:do so|proceed|start|get started|begin|keep (?:it|that|this) in mind)"
    r"|proceeding)(?: as (?:instructed|requested|asked|planned)| accordingly| now| right away| shortly)?"
    r"|(?:many )?(?:thanks|thank you)(?: very much| so much| a lot)?"
    r" for (?:(?:clarifying|confirming|sharing|explaining)(?: (?:it|that|this))?|letting (?:me|us) know"
    r"|(?:the|your) (?:clarification|confirmation|explanation|heads up|help"
    r"|(?:detailed |quick )?(?:update|answer|reply|response)))"
    r"|(?:(?:i|we) )?(?:really |very much )?appreciate (?:it|that|this|the update|your help)"
    r"|(?:much|greatly) appreciated"
    r"|(?:nice|great|good) (?:work|job)(?: (?:everyone|all|team))?|(?:thanks|thank you) (?:all|everyone|team)"
)
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


def words(text: str) -> str:
    """A text without case, surplus white space and closing marks: how texts are compared."""
    return " ".join(text.casefold().split()).strip(" .,!\u3002\uff01")


_FIRST = re.compile(r"\s*+([0-9A-Za-z]++)(?:\s|\Z)")


def first_word(text: str) -> str | None:
    """The word with which a text begins as :func:`words` makes it, where it is one of ASCII letters and digits alone
    and white space follows; else None."""
    found = _FIRST.match(text)
    return None if found is None else found[1].lower()


def may_begin(word: str, forms: Collection[str]) -> bool:
    """True if a text whose :func:`first_word` this is may be a form, or doubtful."""
    return word in _STARTS or word in _starts(forms)


def is_doubtful(
    text: str, forms: Collection[str] = ACKNOWLEDGEMENTS, question: str | None = None, plain: str | None = None
) -> bool:
    """True if a text that is no form itself is put together of forms, or says the same as one with an object; where it
    answers a question, also whether it begins by saying that it arrived. plain: the text as :func:`words` makes it."""
    if len(text) > MOST:
        return False
    plain = words(text) if plain is None else plain
    start = plain.partition(" ")[0]
    if start.isalnum() and start.isascii() and start not in _STARTS and start not in _starts(forms):
        return False
    parted = _PARTS.search(plain)
    first = words(plain if parted is None else plain[: parted.start()])
    if first and not _says_no_more(first, forms) and _PARAPHRASES.fullmatch(plain) is None:
        return False
    if question is not None and not _is_receipt(first, question, forms):
        return False
    parts = [part for part in map(words, _PARTS.split(plain)) if part]
    return _PARAPHRASES.fullmatch(plain) is not None or (
        bool(parts) and all(_says_no_more(part, forms) for part in parts)
    )


def _says_no_more(part: str, forms: Collection[str]) -> bool:
    return part in forms or part in _MILD or _PARAPHRASES.fullmatch(part) is not None


@lru_cache(maxsize=8)
def _starts_of(forms: frozenset[str]) -> frozenset[str]:
    return frozenset(re.split("[^0-9A-Za-z]", form, maxsplit=1)[0] for form in forms)


def _starts(forms: Collection[str]) -> frozenset[str]:
    """The words with which the forms begin."""
    return _starts_of(forms if isinstance(forms, frozenset) else frozenset(forms))


def is_receipt(said: str, question: str, forms: Collection[str] = ACKNOWLEDGEMENTS) -> bool:
    """True if a form, as :func:`words` makes it, answers no question: it says only that this one arrived, and the
    question does not ask for it by one of its words."""
    return said in forms and _is_receipt(said, question, forms)


def _is_receipt(said: str, question: str, forms: Collection[str]) -> bool:
    if said in ANSWERS or (said not in forms and _RECEIPT.search(said) is None):
        return False
    asked = words(question)
    return not any(word in asked for word in said.split() if len(word) > 3 or not word.isascii())
