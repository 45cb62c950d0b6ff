"""Which letters aliases get: those that are written side by side should be one token together.

Two letters of an alphabet are often one token of their own (``です``). What they stand for does not matter to them, so
they are given to those aliases that are neighbours most often.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from operator import itemgetter

from turnwire.session._repeats_py import Alphabet

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


class Pairs:
    """The pairs of letters of an alphabet that are one token.

    Attributes:
        after, before: a letter -> those that make a pair with it, and in how many of five vocabularies. seeds: the
        pairs of two different letters, those first whose letters make most others.
    """

    def __init__(self, alphabet: Alphabet) -> None:
        every, most = _PAIRS[alphabet.first]
        worth = dict.fromkeys(most.split(), 4) | dict.fromkeys(every.split(), 5)
        self.after: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        self.before: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for pair, times in worth.items():
            self.after[pair[0]].append((pair[1], times))
            self.before[pair[1]].append((pair[0], times))
        rich = {pair: sum([len(self.after[each]) + len(self.before[each]) for each in pair]) for pair in worth}
        best = sorted(worth, key=lambda pair: (worth[pair], rich[pair]), reverse=True)
        self.seeds = [(pair[0], pair[1]) for pair in best if pair[0] != pair[1]]


pairs_of = lru_cache(len(_PAIRS))(Pairs)


def arranged(neighbours: dict[str, int], alphabet: Alphabet, many: int) -> dict[str, str]:
    """For the first letters of an alphabet, as many as are aliases in a text, those that they should be instead.

    neighbours: two of them, one behind the other, and how often they are.
    """
    letters = alphabet.used[:many]
    most = sorted(neighbours.items(), key=itemgetter(1), reverse=True)[:MOST_NEIGHBOURS]
    arrangement = _Arrangement(most, alphabet)
    for pair, _ in most:
        arrangement.join(*pair)
    for letter in letters:
        arrangement.improve(letter)
    left = iter(arrangement.free)
    return {letter: arrangement.given.get(letter) or next(left) for letter in letters}


class _Arrangement:
    """Letters given to aliases so far.

    neighbours: two aliases, one behind the other, and how often they are. Attributes: given: alias -> letter. free: the
    letters that none has.
    """

    def __init__(self, neighbours: list[tuple[str, int]], alphabet: Alphabet) -> None:
        self.given: dict[str, str] = {}
        self.free = dict.fromkeys(alphabet.used)
        self._pairs = pairs_of(alphabet)
        self._following: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        self._preceding: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for pair, times in neighbours:
            one, other = pair[0], pair[1]
            if one != other:
                self._following[one].append((other, times))
                self._preceding[other].append((one, times))

    def join(self, one: str, other: str) -> None:
        """Gives letters to two neighbours, or to the one of them that has none."""
        if one in self.given or other in self.given:
            if one not in self.given:
                self.improve(one)
            elif other not in self.given:
                self.improve(other)
        elif one != other:
            for first, second in self._pairs.seeds:
                if first in self.free and second in self.free:
                    self._give(one, first)
                    self._give(other, second)
                    return

    def improve(self, alias: str) -> None:
        """Gives an alias the free letter that makes most pairs with those of its neighbours."""
        given, free = self.given, self.free
        scores: defaultdict[str, int] = defaultdict(int)
        for others, partners in (
            (self._following[alias], self._pairs.before),
            (self._preceding[alias], self._pairs.after),
        ):
            for other, times in others:
                if other in given:
                    for letter, worth in partners[given[other]]:
                        scores[letter] += times * worth
        best = given.get(alias, "")
        most = scores[best]
        for letter, score in scores.items():
            if score > most and letter in free:
                best, most = letter, score
        if best != given.get(alias, ""):
            self._give(alias, best)

    def _give(self, alias: str, letter: str) -> None:
        if alias in self.given:
            self.free[self.given[alias]] = None
        self.given[alias] = letter
        del self.free[letter]
