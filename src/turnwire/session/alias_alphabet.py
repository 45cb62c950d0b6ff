"""Alphabets of aliases, and which letters aliases get: those that stand side by side should be one token together.

Two letters of an alphabet are often one token of their own (``です``). What they stand for does not matter to them, so
they are given to those aliases that are neighbours most often.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple


class Alphabet(NamedTuple):
    """Characters that may be aliases. last: of the range that begins with the first. used: those that are one token
    each in o200k_base, cl100k_base, llama3, qwen3 and gemma3."""

    first: str
    last: str
    used: str


ALPHABETS = (
    Alphabet(
        "\u3042",
        "\u30f3",
        "あいうえおかがきくけこごさざしじすせそただちっつてでとどなにのはばまみめもやよらりるれろわをん"
        "アィイウェエオカキクグコサシジスズセタダチッテデトドナニバパビピフブプペポマムメャュョラリルレロン",
    ),
    Alphabet("\u0430", "\u044f", "абвгдежзийклмнопрстуфхцчшщъыьэюя"),
    Alphabet("\u03b1", "\u03c9", "αβγδεηθικλμνορστυφχω"),
)
"""The alphabets, in the order in which they are tried."""
_PAIRS = {
    "\u3042": (
        "あり いう から この これ ござ さい され さん しか した して する その それ ただ ちは って です では でも "
        "とう ます また イト イン スト ック ット ラン ログ ング ント",
        "ある いい いた いつ いて いや いる えて えば える かな くだ こう ここ こと ころ こん さら しい しく しま "
        "そう そこ たい ため たり だけ ちら った っと ても でき とか とな との とは とも どう ない なお なく なし "
        "など なの なら なる なん につ にな には にも によ のお ので のみ ませ まだ まで まと まり もう もし もの "
        "よう より れて れば れる われ んな アイ アル アン イス イル ウェ ウン オン カル キャ クト クラ クリ クロ "
        "コン シャ シュ ショ ジェ ジャ ジュ ジョ スク スタ ステ スペ スポ スマ セン タイ タン チェ チャ ッグ ッチ "
        "ッド ップ ティ ディ ドラ ドル ナル ニュ パン フィ フェ フト ブラ ブル プリ プレ プロ マン ライ リア リン "
        "レス レビ レン ロン ンド",
    ),
    "\u0430": (
        "аб ад аз ай ак ал ам ан ап ар ас ат ва го да де др ев ед ез ей ек ел ем ен ер ет еш же ид из ил "
        "им ин ир ис ит их ка ке ки ко ку ла ли ло ль лю ля ма ми на не ни но ны ня об од оз ой ок ол ом "
        "он оп ор ос от ра ри ру ры ск сл ст сы ся та те ти то ту ты ть уд ум ун ур ус ут уч ую ца ци ше "
        "ши ый ью ют яд яз ят",
        "ав аг аж ач аш ая ба бе би бо бу бы ве ви во ву вы га ге ги гу дж ди до ду ды еб ег ее еж еп ес "
        "ех еч ещ жа жи жу за зд зи зу зы ив иг ие ии ий ик ип иф ич ия кс кт ле лу лы ме мо му мы мя нд "
        "ну нь ню ов ог ое ож оч ощ оя па пе пи по пр рг ре ро рю ря са се си со сп су сь тр тя уб уг уж "
        "уз уй ук ул уп ущ фа фи фт фф ха хи хо це цу цы ча че чи чу ша шу ща ще щи ыв ые ым ых ье ья эн "
        "эт юр ющ яв ям ян яс ях",
    ),
    "\u03b1": (
        "αι ου",
        "",
    ),
}
"""Of each alphabet by its first letter: pairs that are one token in o200k_base, cl100k_base, llama3, qwen3 and gemma3,
and pairs that are one in four of these."""
MOST_NEIGHBOURS = 200
"""Pairs of aliases that are looked at: those that come most often."""


def pairs_of(alphabet: Alphabet) -> dict[str, int]:
    """Pairs of letters that are one token, and in how many of five vocabularies."""
    every, most = _PAIRS[alphabet.first]
    return dict.fromkeys(most.split(), 4) | dict.fromkeys(every.split(), 5)


def arranged(text: str, alphabet: Alphabet, many: int) -> dict[str, str]:
    """For the first letters of an alphabet, as many as are aliases in a text, those that they should be instead."""
    runs = re.findall(f"[{alphabet.first}-{alphabet.last}]{{2,}}", text)
    neighbours = Counter([run[at : at + 2] for run in runs for at in range(len(run) - 1)]).most_common(MOST_NEIGHBOURS)
    arrangement = _Arrangement(neighbours, alphabet)
    for pair, _ in neighbours:
        arrangement.join(pair[0], pair[1])
    for alias in alphabet.used[:many]:
        arrangement.improve(alias)
    left = iter(arrangement.free)
    return {alias: arrangement.given.get(alias) or next(left) for alias in alphabet.used[:many]}


class _Arrangement:
    """Letters given to aliases so far.

    neighbours: two aliases, one behind the other, and how often they are. Attributes: given: alias -> letter. free: the
    letters that none has.
    """

    def __init__(self, neighbours: list[tuple[str, int]], alphabet: Alphabet) -> None:
        self.given: dict[str, str] = {}
        self.free = dict.fromkeys(alphabet.used)
        self._following, self._preceding = _sides([(two, times) for two, times in neighbours if two[0] != two[1]])
        pairs = pairs_of(alphabet)
        self._after, self._before = _sides(pairs.items())
        rich = {pair: sum([len(self._after[each]) + len(self._before[each]) for each in pair]) for pair in pairs}
        self._best = sorted(pairs, key=lambda pair: (pairs[pair], rich[pair]), reverse=True)

    def join(self, one: str, other: str) -> None:
        """Gives letters to two neighbours, or to the one of them that has none."""
        if one in self.given or other in self.given:
            for alias in (one, other):
                if alias not in self.given:
                    self.improve(alias)
        elif one != other:
            for pair in self._best:  # those first whose letters make most other pairs
                if pair[0] != pair[1] and pair[0] in self.free and pair[1] in self.free:
                    self._give(one, pair[0])
                    self._give(other, pair[1])
                    return

    def improve(self, alias: str) -> None:
        """Gives an alias the free letter that makes most pairs with those of its neighbours."""
        scores: dict[str, int] = defaultdict(int)
        for others, partners in ((self._following, self._before), (self._preceding, self._after)):
            for other, times in others[alias]:
                for letter, worth in partners[self.given.get(other, "")]:
                    scores[letter] += times * worth
        best = given = self.given.get(alias, "")
        most = scores[best]
        for letter, score in scores.items():
            if score > most and letter in self.free:
                best, most = letter, score
        if best != given:
            self._give(alias, best)

    def _give(self, alias: str, letter: str) -> None:
        if alias in self.given:
            self.free[self.given[alias]] = None
        self.given[alias] = letter
        del self.free[letter]


def _sides(pairs: Iterable[tuple[str, int]]) -> tuple[dict[str, list[tuple[str, int]]], ...]:
    """Of letters in pairs, what is behind each and before each, with the number of the pair."""
    after: dict[str, list[tuple[str, int]]] = defaultdict(list)
    before: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for pair, number in pairs:
        after[pair[0]].append((pair[1], number))
        before[pair[1]].append((pair[0], number))
    return after, before
