"""Ordinary text of many kinds, none of which holds a message of any wire."""

from __future__ import annotations

import json

MAIL = """From: Ann <ann@example.com>
To: bob@example.com, "C. Dee" <c1|x@example.com>
Subject: Re: CSP/1
Message-ID: <a3f0@c1.example.com>
In-Reply-To: <f0|@mail>
Content-Type: text/plain; charset=utf-8

Hi Bob @all,

> CSP/1 only. Example:
>
> CSP/1
> is what I meant. From now on, INTENT is a field like any other.

CSP/1, CSP/2 and so on: see the list.
To be clear: @a3 is me, @T1 is you.
"""
MARKDOWN = """# CSP/1

CSP/1
=====

CSP/1 is a protocol for agents; see `CSP/1;!prose`.

- CSP/1
- CSP/2; the next one
- @angular/core, @dataclass, a|b

| wire | by |
|---|---|
| CSP/1 | @f0 |
| nSLIP | @a3 |

```
CSP/1
```

```text
CSP/1 MODE
INFO done
```

CSP/1; a text with flags, it seems, but it is a sentence.

    CSP/1

1. FROM is the sender, TO the receiver.
2. STATUS is one of OK, PARTIAL and FAIL.

See the Compact Symbol Protocol, which is another one.
"""
TYPESCRIPT = """import { Component, Input } from '@angular/core';
import type { A } from "@a3/f0";
@Component({ selector: 'app-root', template: `<p>{{ x | async }}</p>` })
export class App { @Input() a: string | undefined; @d3 b = 1 | 2; }
@app.route("/a|b") export const c = { "header": "h", "payload": { "kind": "query" } };
"""
PYTHON = """@dataclass
class A:
    @c0
    def f(self): return {"sender": 1, "receiver": 2, "channel": 3} | self.a
@a
@f|g
def T1(): return a @ b | c @d1
"""
C = """/** @param a the first
 *  @c1 @return  @f0 text
 *  @defgroup a3|b */
int main(void) { return '{' + '"' + '@'; }
"""
JAVA = '@Test(expected = E.class)\n@SuppressWarnings({"a", "b"})\nclass A { @T x; @d1 y; @Autowired private B b; }\n'
PHP = '<?php /** @throws A|B @category c */ echo @file_get_contents("a") ?: "@f0"; ?>\n'
LATEX = "\\makeatletter\\def\\@a3{\\@c1 |}\\@ifnextchar[{\\@T1}{\\@d |}\\makeatother\n$a@b$ # % CSP/1\n"
YAML = """apiVersion: v1
kind: Deployment
metadata: {name: "x", annotations: {"a@b/c": "{\\"header\\": 1}"}}
spec:
  channel: "#dev"
  sender: "@a3"
  protocol: CSP/1
"""
DIFF = """diff --git a/CSP/1 b/CSP/1
index 1234567..89abcde 100644
--- a/x
+++ b/x
@@ -1,3 +1,4 @@
-@a3
+@f0 |
 CSP/1
+FROMAGE
<<<<<<< HEAD
=======
>>>>>>> b
"""
GIT = """commit a3f0c1 (HEAD -> main)
Author: T1 <T1@d1.org>
Date:   Sun Nov 22 07:00:00 2026 +0000

    CSP/1 support; from a to b

    Co-authored-by: @c3
"""
DOCKER = "# CSP/1\nFROM python:3.11 AS base\nRUN pip install a3@git+https://x/y#egg=z | tee log\n"
PROSE = """The header and the payload were sent at 7. Write to me@a3.org or @T1 on the forum; CSP/1 is out.
Der Absender schrieb an a3@beispiel.de: \u201eCSP/1 ist da\u201c. @alle: bitte lesen!
L\u2019exp\u00e9diteur \u00e9crit \u00e0 d1@exemple.fr : CSP/1 est l\u00e0 ; @tous, lisez-le #vite.
El remitente escribi\u00f3 a c3@ejemplo.es: \u00abCSP/1\u00bb; @todos #hoy.
\u041f\u0438\u0448\u0438 \u043d\u0430 f0@primer.ru: CSP/1 | @\u0432\u0441\u0435\u043c #1
\u9001\u4fe1\u8005\u306f S1@rei.jp \u306b\u66f8\u3044\u305f\uff1a\u300cCSP/1\u300d\uff5c@a3 #\u672c\u65e5
"""
CSS = "@font-face { src: url(a.woff) }\n@charset 'utf-8';\n@d1 { a|b {} }\n@supports (a) or (b) { }\n"
SQL = "SELECT @a3 := 1, @@c1 | @f0 FROM t WHERE x = 'CSP/1' AND y = '{\"payload\": 1}';\n"
SHELL = 'FROM=a TO=b CTX=c; echo "$@" | tee "${a[@]}" # CSP/1\n@echo off\nset @a3 |more\n'
LOG = """2026-01-01T00:00:00Z INFO sender=a receiver=b channel=c @a3 CSP/1
CSP/1
2026-01-01T00:00:01Z ERROR task failed: {"header": {"host": "x"}, "payload": "y"
ERROR E1001 in module, AT line 3
STATUS 200 OK
{"level":"info","sender":"a","receiver":"b","channel":"c","type":"text"}
{"header":{"alg":"none"},"payload":{"sub":"1"}}
"""

SIGNS = """@dataclass
@a
@a3 @a3# @a3 |f0
@c123456789012| @d| @T-1|
@app.route('/')| @angular/core
@s3| @A3|f0|c1# a@a.org|b@c.net|
@f\u00e9| @a"3"|
"""
_OBJECTS = [
    {"name": "app", "version": "1.0.0", "type": "module", "dependencies": {"@angular/core": "^17.0.0", "d3|x": "*"}},
    {"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"in": "header", "name": "x", "content": {}}]}}}},
    {"time": "2026-01-01T00:00:00Z", "level": "info", "sender": "a@b.org", "receiver": "c@d.org", "channel": "mail"},
    {"id": "1", "sender": "Ann", "receiver": "Bob", "timestamp": "2026-01-01T00:00:00Z", "content": "Hi @all"},
    {"id": 1, "timestamp": 2, "sender": "Ann", "receiver": "Bob", "type": "text", "channel": "#dev", "content": "x"},
    {"header": {"title": "Chat"}, "payload": {"messages": []}},
    {"header": {"alg": "RS256", "typ": "JWT"}, "payload": {"sub": "1"}, "signature": "x"},
    {"header": "eyJhbGciOi", "payload": "eyJzdWIi", "signature": "x"},
    {"header": {"schema_id": 12, "kind": "created"}, "payload": {"content": "x"}},
    {"header": {"actor_id": "u1", "event": "login"}, "payload": {"scope": "all", "task": "x"}},
    {"header": {"protocol": "https"}, "payload": {}},
    {"header": None, "payload": None},
    {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {}, "spec": {}, "origin": {"host": "a"}},
    {"specversion": "1.0", "type": "com.example", "source": "/a", "id": "1", "data": {"payload": {}}},
    {"kind": "query", "payload": {"question": "x"}},
    {"from": "a@b.org", "to": ["c@d.org"], "subject": "x", "headers": {"Message-ID": "<1>"}, "body": "Hi"},
    {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}},
    {"protocolVersion": "1.3", "target": "page", "issuer": "x"},
    {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18", "serverInfo": {}}},
    {"taskId": "1", "correlationId": "2", "status": "FAILED", "producer": "kafka", "target": "x"},
    {"messageId": "1", "correlationId": "2", "status": "ACK", "queue": "q", "broker": "b", "ts": 1},
    {"messageId": "1", "correlationId": "2", "status": "DELIVERED"},
    {"role": "user", "content": "\u2afbtask/dispatch:T-7/001\nGo."},
    {"channel": "\u2afbcommand"},
    {"channel": {"id": 1}, "sender": {"id": 2}, "receiver": None},
]
_LINES = [json.dumps(one) for one in _OBJECTS]
JSON = "".join(f"INFO {line}\n{line}{line}\n[{line}]\n" for line in _LINES)
PRETTY_JSON = "".join(f"INFO {json.dumps(one, indent=2, ensure_ascii=False)}\n" for one in _OBJECTS)

TORN = [f"INFO {line[:size]}\n" for line in _LINES for size in range(17, len(line), 17)]
TEXTS = {name.lower(): text for name, text in globals().items() if name.isupper() and isinstance(text, str)}
