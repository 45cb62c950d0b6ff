"""Politeness and padding in texts that should be ids and terms [TOKEN RULES 4]: a heuristic, by tables."""

from __future__ import annotations

import re

POLITE: dict[str, str] = {
    "en": r"please|thanks(?= (?:for|in advance|again|a lot)\b)|thanks(?=\W*$)|thank you|kindly"
    r"|(?:i am|i'm|we are|so) sorry|sorry(?= (?:for|to|about|but)\b)|sorry(?=\W*$)|apologi[sz]e\w*|apologies"
    r"|hello(?=[,!]| (?:there|team|everyone)\b)"
    r"|hi there|dear(?= (?:agents?|team|all|colleagues?)\b)|greetings(?=[,!])|of course|certainly|happy to"
    r"|glad to|let me know|hope this helps|feel free|i think|i believe|i would like|as an ai"
    r"|in order to|basically|just wanted|no worries"
    r"|you're welcome|best regards|cheers(?=[,!]|\W*$)|sure(?=[,!])|could you|would you|if you don't mind",
    "de": r"bitte|danke(?:schön)?|vielen dank|gern geschehen|entschuldigung|mit freundlichen grüßen|könntest du",
    "es": r"por favor|gracias|de nada|lo siento|disculpa\w*|un saludo|podrías|podría usted",
    "fr": r"s'il (?:vous|te) pla[iî]t|merci|de rien|désolée?|cordialement|pourriez-vous|pourrais-tu",
    "it": r"per favore|per piacere|grazie|prego|mi dispiace|cordiali saluti|potresti",
    "pt": r"por favor|obrigad[oa]|desculpe|atenciosamente|poderia",
    "ru": r"пожалуйста|спасибо|извините|с уважением",
    "tr": r"lütfen|teşekkür\w*",
    "pl": r"proszę|dziękuję",
    "nl": r"alsjeblieft|alstublieft|dank je|dank u|bedankt",
}
"""Language -> what is said out of politeness, or to fill."""
# Of texts in lower case: without regard to case it would take three times as long.
_POLITE = re.compile(rf"(?<![\w./-])(?:{'|'.join(POLITE.values())})(?![\w/-]|\.\w)")
_POLITE_SIGNS = re.compile("请|謝謝|谢谢|麻烦|お願い|ください|ありがとう|부탁|감사")
_SIGN = r"/\\_(){}\[\]=<>"
_CODE = re.compile(
    rf"`[^`]*`|\"[^\"]*\"|(?<!\S)[^\s{_SIGN}]*+[{_SIGN}]\S*+|(?<=[\"`])[^\s{_SIGN}]{{0,300}}+[{_SIGN}]\S*+"
    r"|\b\w+(?:\.\w+)+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][A-Z0-9_]+\b"
)
"""Paths, code, quotes and defined names: no words. What has a sign of code is looked at from its start, or from behind
a quote, never from each of its letters."""
_MAYBE_CODE = re.compile(rf"[`\".A-Z{_SIGN}]")
_SMALL_WORDS = """
a an and are as at be because been but by can could did do does for from had has have he her him his how i if in into is
it its me might my not of on or our she should so some than that the their them then there these they this those to us
was we were what when which who why will with would you your
"""
_SMALL = frozenset(_SMALL_WORDS.split())
_WORD = re.compile(r"[a-z']+")
_PROSE_LEAST, _PROSE_SHARE = 14, 0.4
"""From so many words on, a text of which this share are small words is prose."""


def filler(text: str) -> str | None:
    """The politeness or prose in a text, in words; None where nothing is."""
    if text.isascii() and " " not in text and text[-1:] not in ",.!":
        lone = text.lower()
        if "." in lone or "/" in lone or "_" in lone:
            return None
    plain = _CODE.sub(" ", text) if _MAYBE_CODE.search(text) else text
    match = _POLITE.search(plain.lower()) or _POLITE_SIGNS.search(plain)
    if match is not None:
        return f"says {plain[slice(*match.span())]!r}"
    if len(plain) < 2 * _PROSE_LEAST - 1:  # a letter each, and what divides them
        return None
    found = _WORD.findall(plain.lower())
    small = sum(word in _SMALL for word in found)
    if len(found) >= _PROSE_LEAST and small >= _PROSE_SHARE * len(found):
        return f"is prose of {len(found)} words"
    return None
