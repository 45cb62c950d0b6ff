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
# All of it begins with a letter: where there is none, not each of the words need be tried.
_POLITE = re.compile(rf"(?<![\w./-])(?=[^\W\d_])(?:{'|'.join(POLITE.values())})(?![\w/-]|\.\w)", re.IGNORECASE)
_POLITE_SIGNS = re.compile("请|謝謝|谢谢|麻烦|お願い|ください|ありがとう|부탁|감사")
_SIGN = r"/\\_(){}\[\]=<>"
_CODE = re.compile(
    rf"`[^`]*`|\"[^\"]*\"|(?<!\S)[^\s{_SIGN}]*+[{_SIGN}]\S*+|(?<=[\"`])[^\s{_SIGN}]{{0,300}}+[{_SIGN}]\S*+"
    r"|\b\w+(?:\.\w+)+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][A-Z0-9_]+\b"
)
"""Paths, code, quotes and defined names: no words. What has a sign of code is looked at from its start, or from behind
a quote, never from each of its letters."""
_SMALL_WORDS = """
a an and are as at be because been but by can could did do does for from had has have he her him his how i if in into is
it its me might my not of on or our she should so some than that the their them then there these they this those to us
was we were what when which who why will with would you your
"""
_SMALL = frozenset(_SMALL_WORDS.split())
_WORD = re.compile(r"[a-z']+")
_PROSE_LEAST, _PROSE_SHARE = 14, 0.4
"""From so many words on, a text of which this share are small words is prose."""


_STEMS = re.compile(
    "please|thank|kindly|sorry|apolog|hello|^hi$|dear|greetings|course|certainly|happy|glad|know|hope|feel|think|believe"
    "|like|^ai\\b|order|basically|wanted|worries|welcome|regards|cheers|sure|could|would|mind"
    "|bitte|dank|entschuldigung|freundlich|gern|favor|gracias|nada|siento|disculp|saludo|podr|merci|rien|sol|cordial"
    "|pourr|piacere|grazie|prego|spiace|potresti|obrigad|desculp|atencios|poder|tfen|ekk|prosz|dzi|alsjebl|alstubl|bedankt"
    "|\u043f\u043e\u0436\u0430\u043b|\u0441\u043f\u0430\u0441\u0438|\u0438\u0437\u0432\u0438\u043d|\u0443\u0432\u0430\u0436\u0435\u043d"
    "|k\u00f6nntest|plait|pla\u00eet"
)
_STRANGE = re.compile("['\u2019\u0130\u0131\u017f\u212a]")  # what folds to a letter, and what ends a small word
_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST_SMALL = 6
"""So many small words has prose at the least."""
_MOST_WORDS, _MOST_TEXTS, _LONGEST = 1 << 14, 4096, 64
"""Words and texts that are remembered, and characters of the longest text that is."""


class Fillers:
    """Finds filler in the texts of one conversation, in which words, statuses, agents and paths come again.

    Each conversation has its own memory: one that all share would make a text's cost depend on what was read before.
    """

    def __init__(self) -> None:
        self._clean: set[str] = set()
        self._known: dict[str, str | None] = {}

    def of(self, text: str) -> str | None:
        """The politeness or prose in a text, in words; None where nothing is."""
        if self.surely_none(text):
            return None
        if len(text) > _LONGEST:
            return filler(text)
        if text in self._known:
            return self._known[text]
        found = filler(text)
        if len(self._known) < _MOST_TEXTS:
            self._known[text] = found
        return found

    def surely_none(self, text: str) -> bool:
        """True if nothing in a text is filler, nor in a part of it, by the words that it has in common with others.

        False says only that the text must be looked at.
        """
        words = text.split()
        clean = self._clean
        if clean.issuperset(words):
            return True
        if not text.isascii() and (_POLITE_SIGNS.search(text) or _STRANGE.search(text)):
            return False
        small = False
        for word in set(words).difference(clean):
            if word.isdigit():
                continue
            lower = word.lower()
            if "'" in lower or any(_STEMS.search(part) for part in _LETTERS.findall(lower)):
                return False
            if not _SMALL.isdisjoint(_WORD.findall(lower)):
                small = True
                continue
            if len(clean) > _MOST_WORDS:
                clean.clear()
            clean.add(word)
        return not small or sum(part in _SMALL for part in _WORD.findall(text.lower())) < _LEAST_SMALL


def filler(text: str) -> str | None:
    """The politeness or prose in a text, in words; None where nothing is."""
    if text.isascii() and " " not in text and text[-1:] not in ",.!":
        lone = text.lower()
        if "." in lone or "/" in lone or "_" in lone:
            return None
    plain = _CODE.sub(" ", text)
    match = _POLITE.search(plain) or _POLITE_SIGNS.search(plain)
    if match is not None:
        return f"says {match[0]!r}"
    if len(plain) < 2 * _PROSE_LEAST - 1:  # a letter each, and what divides them
        return None
    found = _WORD.findall(plain.lower())
    small = sum(word in _SMALL for word in found)
    if len(found) >= _PROSE_LEAST and small >= _PROSE_SHARE * len(found):
        return f"is prose of {len(found)} words"
    return None
