"""Changes that no test found and that change nothing that can be seen: the line before, the line after, and why.

Only who has read the code around a change adds it; where a test could tell, the test is what is missing.
"""

from __future__ import annotations

WHERE = {
    "for row in range(rows + 1):": "_pure.log.line_heads.x_plain_gaps",
    "fresh = False": "_pure.session.drafts.",
    "if size <= 0:": "_pure.json.text.",
    "offset, length = 0, -1": "_pure.csp.bulk.",
    "return -1": "_pure.session.rows.x_record_end",
    "from_here = newline + 1": "_pure.csp.message.",
    "if way.bad < 0:": "_pure.json.values.",
    "self.head_known = 0": "_pure.json.lines.",
    "place += 1": "_pure.json.lines.",
    "has = lengths > 0": "_pure.log.views.",
    "if hit < 0:": "_pure.csp.message.",
    "blank = False": "_pure.csp.bulk.",
    "if newline < 0:": "_pure.csp.marks.",
    "if newline >= 0:": "_pure.nslip.parser.x_record_",
    "while start < len(raw):": "_pure.nslip.codec.x_decode_many_",
}
"""Lines that could stand anywhere: where those that were judged do."""


def is_same(name: str, before: str, after: str) -> bool:
    """Whether a change was judged to change nothing; a codec's name is the same in capitals. name: mutmut's."""
    judged = (before, after) in SAME and WHERE.get(before, "") in name
    return judged or after.replace('"UTF-8"', '"utf-8"') == before


SAME: dict[tuple[str, str], str] = {
    (
        'nulls, points, _, _ = _text_column(buffer, b"", masks, *spans, valid, -1, out, bitmap)',
        'nulls, points, _, _ = _text_column(buffer, b"", masks, *spans, valid, +1, out, bitmap)',
    ): "what is counted of texts with escapes is not used there",
    ("if hit < 0:", "if hit <= 0:"): "what opens a heredoc stands in front of what closes it",
    ("blank = False", "blank = None"): "it is only asked whether it is so",
    ("if newline < 0:", "if newline <= 0:"): "the first line ends in front of it",
    (
        'if end - width <= start or text[start] in "^.%":',
        'if end - width <= start or text[start] in "XX^.%XX":',
    ): "a row that begins with X is read by itself, as other records are",
    (
        'if len(text) == _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and text[11:13] != "24":',
        'if len(text) == _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and text[11:13] != "XX24XX":',
    ): "before Python 3.13 datetime reads no hour 24; the tests run there, too",
    (
        "return moment is not None and bool(moment[1])",
        "return moment is not None and bool(None)",
    ): "a time that is fine is judged once more, in a longer way",
    (
        "elif value is not None and _fine(value, field.type):",
        "elif value is None and _fine(value, field.type):",
    ): "a value that is fine is judged once more, in a longer way",
    (
        "table = np.full(256, 255, dtype=np.uint8)",
        "table = np.full(256, 255, )",
    ): "wider numbers, of the same values: each is made a uint64 before it is used",
    (
        'if array.dtype.kind not in "ui":',
        'if array.dtype.kind not in "XXuiXX":',
    ): "numpy has no kind X",
    (
        "if not self._contributes(begins):",
        "if not self._contributes(None):",
    ): "the whole text is looked at where its first word would have done; what is found is the same",
    (
        "block = record.block if isinstance(record, CspMessage) else None",
        "block = record.block if (isinstance(record, CspMessage)) or True else None",
    ): "a token rule with this line is asked of messages only: the table of rules names blocks for it",
    (
        '*words, last = text.split() or [""]',
        '*words, last = text.split() or ["XXXX"]',
    ): "the subject of a routing law is never empty, nor are blanks",
    (
        'self._patches[made.patch or ""] = step.entry.text, made.id',
        'self._patches[made.patch or "XXXX"] = step.entry.text, made.id',
    ): "a checkpoint that a step makes has its patch; only C0 has none",
    (
        'task, state = block.id, {"OK": "answered", "FAIL": "failed"}.get(block.get("STATUS") or "", "open")',
        'task, state = block.id, {"OK": "answered", "FAIL": "failed"}.get(block.get("STATUS") or "XXXX", "open")',
    ): "neither is a status",
    (
        "found = known.get((envelope.sender, envelope.receiver, envelope.type, envelope.channel))",
        "found = None",
    ): "what a policy is known to say is asked for anew, and is the same",
    (
        "found = None if strict else remarks(envelope, policy.remarks)",
        "found = None",
    ): "what a policy is known to say is asked for anew, and is the same",
    (
        "if envelope.extra or type(envelope.type) not in (str, MessageType):",
        "if envelope.extra or type(None) not in (str, MessageType):",
    ): "no envelope is taken for usual any more: each is looked at closely, and what is found is the same",
    (
        'warnings = [issue for issue in issues if issue.severity == "warning"] if issues else []',
        'warnings = [issue for issue in issues if issue.severity == "warning"] if (issues) or True else []',
    ): "of no issues no warnings are made",
    (
        "second = _SECONDS.get(text[17:])",
        "second = _SECONDS.get(text[18:])",
    ): "no minute ends there, so that the grammar reads all",
    (
        'if len(text) == _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and text[11:13] != "24":',
        'if len(text) != _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and text[11:13] != "24":',
    ): "the fast way is not taken, and the grammar finds the same",
    (
        'if len(text) == _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and text[11:13] != "24":',
        'if len(text) == _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and text[11:14] != "24":',
    ): "Python before 3.14 refuses the hour 24, too, and the grammar is asked",
    (
        "start, counted = int(match[1]), 1 if match[2] is None else int(match[2])",
        "start, counted = int(match[1]), 2 if match[2] is None else int(match[2])",
    ): "it only matters whether any lines are counted",
    (
        "self.learn(entry.message, state=False)",
        "self.learn(entry.message, state=None)",
    ): "neither is true",
    (
        'short, tilde, number = name.partition("~")',
        'short, tilde, number = name.rpartition("~")',
    ): "no short name that is known has a tilde, and what follows the first of two is no number",
    (
        'line = lines[place] if place < len(lines) else b"\\\\"',
        'line = lines[place] if place < len(lines) else b"XX\\\\XX"',
    ): "behind the last line any sign but those of a hunk is refused in the same words",
    (
        'return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)',
        'return (hours * 3600 + minutes * 60) / (-1 if zone[0] == "-" else 1)',
    ): "of one hour or minus one hour the quotient is the product, and the sum is a float as it is",
    (
        "start = _minute(text[:17])",
        "start = _minute(text[:18])",
    ): "no minute has a digit behind it, so that the grammar reads all",
    (
        "return all(type(text) is str for text in texts)",
        "return all(type(None) is str for text in texts)",
    ): "no envelope is taken for usual any more: each is looked at closely, and what is found is the same",
    (
        'self._delegations.setdefault(self._fold(addressee or ""), []).append(message)',
        'self._delegations.setdefault(self._fold(addressee or "XXXX"), []).append(message)',
    ): "a delegation that is taken has an addressee: without one it is refused",
    (
        'return text if isinstance(text, str) else ""',
        'return text if isinstance(text, str) else "XXXX"',
    ): "a message without its main text is refused; only who changes a question after it was fed sees it",
    (
        "return type(value) in (int, float) and 0 <= value <= 1",
        "return type(value) in (int, float) and 0 <= value < 1",
    ): "what is not fine at once is looked at closely, where 1 is fine",
    (
        "value = header.get(field.name)",
        "value = None",
    ): "no value is fine at once any more: each is looked at closely, and what is found is the same",
    (
        "value = payload.get(field.name)",
        "value = None",
    ): "no value is fine at once any more: each is looked at closely, and what is found is the same",
    (
        '_search(key, f"{path}/{pointer_step(key)}", depth + 1)',
        '_search(key, f"{path}/{pointer_step(key)}", None)',
    ): "a key is a text, whose depth nobody looks at",
    (
        "if len(raw) > min(limits.message, limits.key) or limits.integer_digits < 18:",
        "if len(raw) > min(limits.message, limits.key) or limits.integer_digits <= 18:",
    ): "the quick way is not taken; the other way reads the same",
    (
        'if not text.lstrip(" \\t\\n\\r").startswith("{") or _SURROGATE_ESCAPE.search(text):',
        'if not text.lstrip(" \\t\\n\\r").startswith("XX{XX") or _SURROGATE_ESCAPE.search(text):',
    ): "the quick way is not taken; the other way reads the same",
    (
        "quick = _quick(raw, limits)",
        "quick = None",
    ): "the quick way is not taken; the other way reads the same",
    (
        "if size <= 0:",
        "if size <= 1:",
    ): "a character that is no ASCII has two bytes at least",
    (
        "return _Silent(raw[: place + limits.message], self.wire, shallow, self.keys).containers(place)",
        "return _Silent(raw[: place + limits.message], None, shallow, self.keys).containers(place)",
    ): "faults that are only noticed name no wire",
    (
        "fresh = False",
        "fresh = None",
    ): "neither is true",
    (
        "ends = [(member.name, member.mark) for member in merged(base, found, False)]",
        "ends = [(member.name, member.mark) for member in merged(base, found, )]",
    ): "only names and marks are looked at, which are the same where members are merged, too",
    (
        "offset, length = 0, -1",
        "offset, length = 1, -1",
    ): "where the length stays, the offset is not looked at",
    (
        "if len(value) < 2 or not isinstance(value[0], dict) or not value[0]:",
        "if len(value) < 2 or not isinstance(value[0], dict) or not value[1]:",
    ): "where one of two is empty they do not have the same keys",
    (
        "colon = text.find('\":') + 2",
        "colon = text.find('XX\":XX') + 2",
    ): "only the order changes in which styles are tried, and a text is of one",
    (
        "return {key: _built(each, leaves, strict) for key, each in zip(kind, node[1], strict=True)}",
        "return {key: _built(each, leaves, strict) for key, each in zip(kind, node[1], )}",
    ): "a tree has as many nodes as keys",
    (
        "elif columns[each] is None and (_QUICK(leaf) or leaf in _CONSTANTS):",
        "elif columns[each] is None and (_QUICK(leaf) and leaf in _CONSTANTS):",
    ): "the quick way is not taken; the other way writes the same",
    (
        "return -1",
        "return -2",
    ): "any end in front of the beginning says that there is none",
    (
        'elif own.text and field[0] not in "=&":',
        'elif own.text and field[0] not in "XX=&XX":',
    ): "what is not simply a text is read with care, and a text that begins with X is itself",
    (
        'text = _ESCAPE.sub(r"\\1", value[1:-1]) if isinstance(value, str) and value[:1] == \'"\' else ""',
        'text = _ESCAPE.sub(r"\\1", value[1:-1]) if isinstance(value, str) and value[:1] == \'"\' else "XXXX"',
    ): "four letters are no long string, either",
    (
        "damaged = data[start : fault.offset + 1]  # no more: the rest may be long, and hold many faults",
        "damaged = data[start : fault.offset + 2]  # no more: the rest may be long, and hold many faults",
    ): "of what is behind the fault something is said only where nothing is in front of it, and a record begins with @",
    (
        "if newline >= 0:",
        "if newline > 0:",
    ): "a record begins with @, not with a newline",
    (
        "while start < len(raw):",
        "while start <= len(raw):",
    ): "behind the last line end there is one more line then, an empty one, which is skipped",
    (
        "if message is not None and (text.isascii() or _encodable(text)):",
        "if message is not None and (text.isascii() and _encodable(text)):",
    ): "what is no ASCII is not taken by the quick way; the other way reads the same",
    (
        "if is_preamble_line(text, laws=False):",
        "if is_preamble_line(text, laws=None):",
    ): "neither is true",
    (
        "self.run = run if self.run in (0, run) else -1",
        "self.run = run if self.run in (0, run) else -2",
    ): "any number below 0 says that heredocs of several lengths are open",
    (
        "hit = data.find(needle, from_here, bound)",
        "hit = data.find(needle, from_here, )",
    ): "what is found behind the bound ends behind it, and is no closing line",
    (
        'for name, value in zip(("offset", "length", "line", "fault", "reason"), values, strict=True):',
        'for name, value in zip(("offset", "length", "line", "fault", "reason"), values, strict=None):',
    ): "there are five values",
    (
        "from_here = newline + 1",
        "from_here = newline - 1",
    ): "no closing line begins with the last byte of another line",
    (
        "known = self._unrouted.get(word)",
        "known = self._unrouted.get(None)",
    ): "what is known of a word is asked for anew, and is the same",
    (
        "if reader.count + 1 >= len(found):  # a line makes two cuts at most",
        "if reader.count + 1 > len(found):  # a line makes two cuts at most",
    ): "one cut more is told by this call and not by the next one; no line makes two",
    (
        "if type(data) is not bytes or len(data) > LIMITS.message:",
        "if type(data) is not bytes or len(data) >= LIMITS.message:",
    ): "a message of just that size is not taken by the quick way; the other way reads the same",
    (
        'rows, extras, rejects = tables(raw, _USUAL, "first")',
        "rows, extras, rejects = tables(raw, _USUAL, )",
    ): "it only matters whether there is a reject",
    (
        "while 0 <= (quote := raw.find(b'\"', start, region.end)) < place:",
        "while 0 <= (quote := raw.find(b'\"', start, region.end)) <= place:",
    ): "at the place is a brace, or the end",
    (
        "self.reject(region, other.at, other.end, token.fault, 0, token.reason, wire)",
        "self.reject(region, other.at, other.end, token.fault, 1, token.reason, wire)",
    ): "the plan with that number is not looked at where the code of the wire is given",
    (
        "for row, (place, length) in enumerate(zip(places.tolist(), sizes.tolist(), strict=True)):",
        "for row, (place, length) in enumerate(zip(places.tolist(), sizes.tolist(), strict=False)):",
    ): "their lengths were compared before",
    (
        "if self.partial < 0 or (way.rows if self.rows_full else way.rejects):",
        "if self.partial < 1 or (way.rows if self.rows_full else way.rejects):",
    ): "what is inside an object does not begin with the first byte of a line",
    (
        'whole = lines.data[place] in b"{@" and _whole_line(lines, place, end, behind)',
        'whole = lines.data[place] in b"XX{@XX" and _whole_line(lines, place, end, behind)',
    ): "a line that begins with X is looked at closely, and no record fills it",
    (
        "way.bad, way.done = -1, other.end",
        "way.bad, way.done = -2, other.end",
    ): "any number below 0 says that no damage waits",
    (
        'return values, 1 << self.plan.valid.get("inner", 63) if region.level and "inner" in self.columns else 0',
        'return values, 1 << self.plan.valid.get("inner", None) if region.level and "inner" in self.columns else 0',
    ): "a plan that has the column has its bit",
    (
        "if way.bad < 0:",
        "if way.bad <= 0:",
    ): "no damage waits in a line of values: with it the line is none",
    (
        "self.head_known = 0",
        "self.head_known = 1",
    ): "it is set where a line begins, or taken over",
    (
        "place += 1",
        "place += 2",
    ): "behind a brace that may open something is no other",
    (
        "end = self.stop if newline < 0 else newline",
        "end = self.stop if newline < 1 else newline",
    ): "a line end behind a brace is not the first byte",
    (
        "has = lengths > 0",
        "has = lengths >= 0",
    ): "a text of no bytes has the same view wherever it is",
    (
        "self.around = -1  # where the good object starts that is looked into",
        "self.around = -2  # where the good object starts that is looked into",
    ): "none is any number below zero",
    (
        "what, wire, reason, fault = OTHER, 0, 0, 0",
        "what, wire, reason, fault = OTHER, 1, 0, 0",
    ): "what is no message has no wire that anybody asks for",
    (
        "self.stopped, self.partial = region.start + self.partial, -1",
        "self.stopped, self.partial = region.start + self.partial, +1",
    ): "there is no room left: the call ends, and asks no more",
    (
        "if newline < 0 and not self.final and self.stop - start <= self.limit + 1:",
        "if newline < 1 and not self.final and self.stop - start <= self.limit + 1:",
    ): "a line end behind a brace is not the first byte",
    (
        "if signs is not None and _shows_sign(data, start, size, parts, first, signs):",
        "if signs is not None and _shows_sign(data, start, size, parts, None, signs):",
    ): "parts that were read lie in front of the start: they are passed over",
    (
        "for row in range(rows + 1):",
        "for row in range(rows + 2):",
    ): "the last gap is looked at twice",
}
