"""What contributes nothing: acknowledgements as a table of forms ("Do not acknowledge, echo, or confirm receipt").

A form is a whole text, without case, surplus white space and closing marks. Users extend the table:
``Session(acknowledgements=[*sstp.ACKNOWLEDGEMENTS, "chi capisce"])``. A text that is put together of forms, or says the
same with an object ("I acknowledge receipt of your message"), is doubtful: it is told, and changes no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Collection

FORMS: dict[str, tuple[str, ...]] = {
    "en": (
        *("ack", "acknowledged", "agreed", "all clear", "confirmed", "confirming receipt", "copy", "copy that", "done"),
        *(
            "fine",
            "good",
            "got it",
            "great",
            "i acknowledge",
            "i agree",
            "i see",
            "i understand",
            "i will",
            "looks good",
        ),
        *(
            "looks good",
            "makes sense",
            "many thanks",
            "message received",
            "no problem",
            "noted",
            "noted with thanks",
            "ok",
            "okay",
        ),
        *("ok thanks", "on it", "perfect", "read", "receipt acknowledged", "receipt confirmed", "received", "right"),
        *("roger", "roger that", "sounds good", "sure", "sure thing", "thank you", "thanks", "thanks for the update"),
        *("understood", "will do", "wilco", "works for me", "yes", "you are welcome"),
    ),
    "de": ("alles klar", "bestätigt", "danke", "einverstanden", "erhalten", "geht klar", "in ordnung", "notiert"),
    "es": ("confirmado", "de acuerdo", "entendido", "gracias", "muchas gracias", "recibido", "vale"),
    "fr": ("bien reçu", "c'est noté", "compris", "d'accord", "entendu", "merci", "noté"),
    "it": ("capito", "d'accordo", "grazie", "ricevuto", "va bene"),
    "pt": ("combinado", "entendido", "obrigada", "obrigado", "recebido"),
    "ja": ("了解", "了解しました", "了解です", "承知しました", "かしこまりました", "ありがとうございます"),
    "zh": ("好的", "收到", "明白", "谢谢", "了解"),
    "ru": ("понял", "понятно", "принято", "спасибо", "хорошо"),
}
"""Language -> its forms. English first."""

ACKNOWLEDGEMENTS = frozenset(form for forms in FORMS.values() for form in forms)
"""All forms of the table."""

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
    rf"|(?:that |this )?(?:sounds|looks) (?:good|great|fine)(?: to me)?"
)
_PARTS = re.compile(r"[.!,;:\n\u3002\uff01\uff0c\u2014]+|\s+-+\s+|\s+and\s+(?=(?:will|thank|i|we|on)\b)")


def words(text: str) -> str:
    """A text without case, surplus white space and closing marks: how texts are compared."""
    return " ".join(text.casefold().split()).strip(" .,!\u3002\uff01")


def is_doubtful(text: str, forms: Collection[str] = ACKNOWLEDGEMENTS) -> bool:
    """Whether a text that is no form itself is put together of forms, or says the same as one with an object."""
    if len(text) > MOST:
        return False
    plain = words(text)
    if _PARAPHRASES.fullmatch(plain):
        return True
    parted = _PARTS.search(plain)
    first = words(plain if parted is None else plain[: parted.start()])
    if first and first not in forms and _PARAPHRASES.fullmatch(first) is None:
        return False
    met = False
    for each in _PARTS.split(plain):
        part = words(each)
        if part and part not in forms and _PARAPHRASES.fullmatch(part) is None:
            return False
        met = met or bool(part)
    return met
