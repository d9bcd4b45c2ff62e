"""A question in another language is answered, and the answer says what was not understood."""

from pathlib import Path

import pytest

import holdfast
from holdfast.language.questions import NOTE, english_only
from holdfast.testing import HashEmbedder


@pytest.mark.parametrize(
    "text",
    [
        "安在哪里住？",
        "アンはどこに住んでいますか",
        "Где живёт Анна?",
        "Où habite Anna ?",
        "Wo wohnt Anna und wer ist ihr Freund",
        "¿Dónde vive Ana?",
        "Waar woont Anna en wanneer",
    ],
)
def test_another_language_is_noticed(text: str) -> None:
    assert english_only(text) == NOTE


@pytest.mark.parametrize(
    "text",
    [
        "Where does Anna live?",
        "zebra barn",
        "Who is Zoë and where does she live?",
        "INV-2026-0417",
        "🎉🎉",
        "",
        "What did I say about the café in São Paulo?",
        "lisbon apartment rent",
    ],
)
def test_english_and_what_has_no_language_are_not(text: str) -> None:
    assert english_only(text) is None


def test_the_answer_says_so_and_is_found_all_the_same(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", worker=False, embedder=HashEmbedder()) as memory:
        memory.remember(
            [{"content": "我搬到了里斯本。"}, {"content": "J'habite Évora."}], user="ann"
        )
        found = memory.recall("里斯本在哪里？", user="ann")
        assert found[0].content == "我搬到了里斯本。"
        assert found.degraded == (NOTE,)
        assert memory.recall("evora", user="ann")[0].content == "J'habite Évora."
        assert memory.recall("Lisbon", user="ann").degraded == ()
