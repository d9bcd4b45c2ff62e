"""Our WordPiece equals the `tokenizers` library, and is bounded."""

import random
import sys
import unicodedata
from functools import cache

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordPiece as TheirModel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing

from holdfast.models import local
from holdfast.models.local import WORDS, WordPiece, split_words

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow

VOCABULARY = WORDS.read_text(encoding="utf-8").splitlines()
OURS = WordPiece.from_file(WORDS)


@cache
def their_tokenizer() -> Tokenizer:
    """As BERT's, but without names of special tokens in the text: to us they are text."""
    ids = {token: number for number, token in enumerate(VOCABULARY)}
    theirs = Tokenizer(TheirModel(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    theirs.normalizer = BertNormalizer(lowercase=True)
    theirs.pre_tokenizer = BertPreTokenizer()
    theirs.post_processor = BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return theirs


@cache
def old_characters() -> list[str]:
    """Characters whose kind has not changed since Unicode 3.2: both sides have tables for them."""
    old = unicodedata.ucd_3_2_0
    points = (p for p in range(sys.maxunicode + 1) if not 0xD800 <= p <= 0xDFFF)
    kinds = ((chr(p), old.category(chr(p))) for p in points)
    return [c for c, kind in kinds if kind not in {"Cn", "Co"} and unicodedata.category(c) == kind]


def made_text(dice: random.Random) -> str:
    return "".join(made_part(dice) for _ in range(dice.randint(1, 12)))


def made_part(dice: random.Random) -> str:
    """A bit of text of one kind: the kinds are those that tokenisers get wrong."""
    kinds = {
        "word": lambda: dice.choice(VOCABULARY).removeprefix("##"),
        "capitals": lambda: dice.choice(VOCABULARY).upper(),
        "space": lambda: dice.choice([" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000"]),
        "any": lambda: "".join(dice.choices(old_characters(), k=dice.randint(1, 6))),
        "latin": lambda: "".join(chr(dice.randint(0xC0, 0x24F)) for _ in range(4)),
        "accents": lambda: "e" + "".join(chr(dice.randint(0x300, 0x36F)) for _ in range(3)),
        "greek": lambda: dice.choice(["ΟΔΥΣΣΕΥΣ", "Σ", "ΑΣ ", "ς", "İstanbul", "ẞ", "ǅ"]),
        "hangul": lambda: "".join(chr(dice.randint(0xAC00, 0xD7A3)) for _ in range(3)),
        "cjk": lambda: "".join(chr(dice.randint(0x4E00, 0x9FFF)) for _ in range(3)),
        "rare cjk": lambda: chr(dice.randint(0x2A6D0, 0x2CEB0)) + chr(dice.randint(0xF900, 0xFAFF)),
        "emoji": lambda: dice.choice(["👍🏽", "👩‍👩‍👧", "🇩🇪", "☺️", "🤖🔥", "1️⃣"]),
        "control": lambda: "a" + chr(dice.randint(0, 0x9F)) + "b",
        "invisible": lambda: dice.choice(["\u200b", "\u200d", "\ufeff", "\u00ad", "\ufffd", "\0"]),
        "long": lambda: "a" * dice.randint(95, 105),
        "punctuation": lambda: "".join(
            dice.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¿«»…—", k=3)
        ),
        "special": lambda: dice.choice(["[CLS]", "[SEP]", "[MASK]", "##ing", "[UNK]"]),
    }
    return str(dice.choice(list(kinds.values()))())


def test_ten_thousand_texts_give_the_same_ids() -> None:
    dice = random.Random(20)
    texts = [made_text(dice) for _ in range(10_000)]
    expected = [encoding.ids for encoding in their_tokenizer().encode_batch(texts)]
    wrong = [text for text, ids in zip(texts, expected, strict=True) if OURS.encode(text) != ids]
    assert wrong == []


def test_every_old_character_splits_words_the_same_way() -> None:
    texts = [f"a{character}b" for character in old_characters()]
    normal, cut = BertNormalizer(lowercase=True), BertPreTokenizer()
    wrong = [
        text
        for text in texts
        if split_words(text) != [w for w, _ in cut.pre_tokenize_str(normal.normalize_str(text))]
    ]
    assert wrong == []


@pytest.mark.parametrize("max_tokens", [3, 4, 7, 50])
def test_a_long_text_is_cut_between_its_marks(max_tokens: int) -> None:
    text = "Unbelievably, the quick brown fox jumped over antidisestablishmentarianism again."
    theirs = their_tokenizer()
    theirs.enable_truncation(max_tokens)
    try:
        assert OURS.encode(text, max_tokens=max_tokens) == theirs.encode(text).ids
    finally:
        theirs.no_truncation()


def test_half_a_surrogate_pair_is_dropped() -> None:
    assert OURS.encode("a\ud800b") == OURS.encode("ab")


def test_the_caches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "CACHED_WORDS", 10)
    tokens = WordPiece(VOCABULARY)
    first = [tokens.encode(f"word{number}") for number in range(50)]
    assert [tokens.encode(f"word{number}") for number in range(50)] == first
    assert len(tokens._words) <= 10
