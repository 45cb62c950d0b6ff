"""Politeness in every language that is known, each form of it: told in a text, and never passed over unread."""

from __future__ import annotations

import pytest

from turnwire.csp.prose import Fillers, filler

FORMS = {
    "en": "please look|thanks for it|thanks in advance|thanks again|thanks a lot|thanks|thank you all|kindly look"
    "|i am sorry|i'm sorry|we are sorry|so sorry|sorry for it|sorry to ask|sorry about it|sorry but no|sorry"
    "|apologise|i apologize|apologies|hello, b|hello there|hello team|hello everyone|hi there"
    "|dear agent, look|dear agents|dear team|dear all|dear colleague|dear colleagues"
    "|greetings, all|of course|certainly|happy to look|glad to look|let me know"
    "|hope this helps|feel free|i think so|i believe so|i would like one|as an ai|in order to look|basically it"
    "|just wanted it|no worries|you're welcome|best regards|cheers, b|cheers|sure, done|could you look|would you look"
    "|if you don't mind",
    "de": "bitte|danke|dankeschön|vielen dank|gern geschehen|entschuldigung|mit freundlichen grüßen|könntest du",
    "es": "por favor|gracias|de nada|lo siento|disculpa|disculpas|un saludo|podrías|podría usted",
    "fr": "s'il vous plaît|s'il te plait|merci|de rien|désolé|désolée|cordialement|pourriez-vous|pourrais-tu",
    "it": "per favore|per piacere|grazie|prego|mi dispiace|cordiali saluti|potresti",
    "pt": "por favor|obrigado|obrigada|desculpe|atenciosamente|poderia",
    "ru": "пожалуйста|спасибо|извините|с уважением",
    "tr": "lütfen|teşekkür|teşekkürler",
    "pl": "proszę|dziękuję",
    "nl": "alsjeblieft|alstublieft|dank je|dank u|bedankt",
    "others": "请|謝謝|谢谢|麻烦|お願いします|ください|ありがとう|부탁|감사",
}


@pytest.mark.parametrize("language", FORMS)
def test_every_polite_form_is_told(language):
    for form in FORMS[language].split("|"):
        for text in (form, form.capitalize(), f"a.ts:7; {form}", f"found: {form}"):
            assert filler(text) is not None, text
            assert not Fillers().surely_none(text), text


@pytest.mark.parametrize("end", ",.!")
def test_one_word_of_politeness_with_dots_is_one(end):
    for text in (f"thanks..{end}", f"sorry,x.y{end}"):
        assert filler(text) is not None and not Fillers().surely_none(text)


@pytest.mark.parametrize(
    "text",
    ["pleased", "thanks to b", "src/please.ts", "please.ts", "`please`", '"thank you"', "PLEASE_WAIT", "hello", "sure",
     "dear", "a please/b", "thanksgiving", "prégo"],
)  # fmt: skip
def test_what_is_a_part_of_a_word_or_code_is_no_politeness(text):
    assert filler(text) is None
