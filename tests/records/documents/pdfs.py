"""Small PDFs, written by hand: what a page says is known to the letter."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from io import BytesIO

import pypdf


def pdf(pages: Sequence[str], *, title: str = "") -> bytes:
    """A PDF with these lines of text on its pages."""
    return from_streams([_stream(_drawn(page)) for page in pages], title=title)


def from_streams(streams: Sequence[bytes], *, title: str = "", times: int = 1) -> bytes:
    """A PDF whose pages have these content streams; `times` repeats the page objects."""
    count = len(streams) * times
    first_page = 5 + len(streams)
    kids = b" ".join(b"%d 0 R" % (first_page + i) for i in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, kids),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Title (%s) >>" % title.encode(),
        *streams,
    ]
    for i in range(count):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + i % len(streams))
        )
    return _file(objects)


def packed(data: bytes, times: int = 1) -> bytes:
    """A compressed content stream; `times` over again."""
    for _ in range(times):
        data = zlib.compress(data, 9)
    names = b" ".join([b"/FlateDecode"] * times)
    return _stream(data, b"/Filter [%s] " % names)


def with_outline(data: bytes, outline: Sequence[tuple[str, int, int | None]]) -> bytes:
    """A PDF with headings: title, page from 0, and the number of the heading it stands under."""
    writer = pypdf.PdfWriter(clone_from=BytesIO(data))
    made: list[object] = []
    for title, page, parent in outline:
        under = None if parent is None else made[parent]
        made.append(writer.add_outline_item(title, page, parent=under))  # type: ignore[arg-type]
    return _written(writer)


def encrypted(data: bytes, password: str, owner: str = "owner") -> bytes:
    """A PDF that needs a password."""
    writer = pypdf.PdfWriter(clone_from=BytesIO(data))
    writer.encrypt(password, owner, algorithm="RC4-128")
    return _written(writer)


def _written(writer: pypdf.PdfWriter) -> bytes:
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def _drawn(text: str) -> bytes:
    lines = b"".join(b"(%s) Tj T* " % line.encode("latin-1") for line in text.split("\n"))
    return b"BT /F1 12 Tf 14 TL 50 750 Td " + lines + b"ET"


def _stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<< %s/Length %d >>\nstream\n%s\nendstream" % (more, len(data), data)


def _file(objects: Sequence[bytes]) -> bytes:
    out = BytesIO()
    out.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\n" % (len(objects) + 1))
    out.write(b"startxref\n%d\n%%%%EOF\n" % start)
    return out.getvalue()
