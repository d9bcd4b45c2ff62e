"""Text becomes the same terms in the index and in the query."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language import terms as terms_module
from holdfast.language.terms import (
    STOP_WORDS,
    fold,
    quoted_strings,
    term_id,
    terms,
    words_with_digits,
)


def test_case_and_accents_are_folded() -> None:
    assert fold("Café MÜNCHEN Ñandú") == "cafe munchen nandu"


def test_sharp_s_and_ligatures_are_spelt_out() -> None:
    assert fold("Straße, ﬁnal") == "strasse, final"


def test_full_width_letters_are_plain_ones() -> None:
    assert fold("ＡＢＣ１２３") == "abc123"


@pytest.mark.parametrize("text", ["𝐇ello", "ℋello", "Ⓗello", "Holdfast™", "№"])
def test_letters_that_only_compatibility_forms_reveal_are_lower_case(text: str) -> None:
    assert fold(text) == fold(text).lower()


def test_dakuten_and_hangul_survive_folding() -> None:
    assert fold("がぎぐ 한국어") == "がぎぐ 한국어"


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_equal_words_in_other_clothes_give_equal_terms() -> None:
    assert terms("Moving to MÜNCHEN") == terms("moved to Munchen")


def test_words_are_stemmed() -> None:
    assert terms("running runs") == ["run", "run"]


def test_short_words_and_words_with_digits_are_left_as_they_are() -> None:
    assert terms("gas b2b") == ["gas", "b2b"]


@pytest.mark.parametrize("text", ["Ann's cat", "Ann’s cat", "Ann cat"])
def test_a_possessive_is_the_word_itself(text: str) -> None:
    assert terms(text) == ["ann", "cat"]


def test_an_apostrophe_inside_a_word_is_dropped() -> None:
    assert terms("o'clock") == terms("o’clock") == ["oclock"]


def test_stop_words_carry_no_meaning() -> None:
    assert terms("The cat is on the mat") == ["cat", "mat"]
    assert terms("don't I'm what's") == []


def test_stop_words_are_folded_words() -> None:
    assert all(word == fold(word) for word in STOP_WORDS)


def test_a_compound_gives_itself_and_its_parts() -> None:
    assert terms("INV-2026-0417") == ["inv-2026-0417", "inv", "2026", "0417"]
    assert terms("ann@example.org") == ["ann@example.org", "ann", "exampl", "org"]
    assert terms("foo_bar.py") == ["foo_bar.py", "foo", "bar", "py"]


def test_a_compound_drops_the_stop_words_among_its_parts() -> None:
    assert terms("state-of-the-art") == ["state-of-the-art", "state", "art"]


def test_punctuation_at_the_ends_is_no_part_of_a_word() -> None:
    assert terms("(Lisbon), -Porto- ...Faro!") == ["lisbon", "porto", "faro"]


def test_scripts_without_spaces_give_pairs_of_characters() -> None:
    assert terms("東京都") == ["東京", "京都"]
    assert terms("サーバ") == ["サー", "ーバ"]


def test_a_single_dense_character_is_a_term() -> None:
    assert terms("猫") == ["猫"]


def test_dense_and_spaced_scripts_side_by_side() -> None:
    assert terms("iPhone手机Pro") == ["iphon", "手机", "pro"]


def test_thai_gives_pairs_with_its_vowel_signs() -> None:
    text = "สวัสดี"
    assert terms(text) == [text[i : i + 2] for i in range(len(text) - 1)]


def test_thai_words_inside_a_sentence_are_found() -> None:
    assert set(terms("เชียงใหม่")) <= set(terms("ฉันอยู่ที่เชียงใหม่ครับ"))


@pytest.mark.parametrize("word", ["हिन्दी", "தமிழ்", "বাংলা"])
def test_a_word_with_vowel_signs_is_one_term(word: str) -> None:
    assert len(terms(word)) == 1


def test_words_that_differ_in_vowel_signs_differ() -> None:
    assert terms("दिन") != terms("दान")


def test_a_pointed_word_is_one_term() -> None:
    assert len(terms("שָׁלוֹם")) == 1
    assert len(terms("مُحَمَّد")) == 1


def test_each_emoji_is_a_term() -> None:
    assert terms("ship it 🚀🎉") == ["ship", "🚀", "🎉"]


def test_a_very_long_word_is_known_by_its_start() -> None:
    (term,) = terms("x" * 10_000)
    assert term == "x" * 64


def test_nothing_to_find_gives_no_terms() -> None:
    assert terms("") == terms("?!… —") == terms("the of and") == []


def test_quoted_strings_of_every_kind_are_found_once() -> None:
    query = 'Say "red fox", “blue jay”, «gris», `ls -l` and \'old oak\', again "red fox"'
    assert quoted_strings(query) == ["red fox", "blue jay", "gris", "ls -l", "old oak"]


def test_an_apostrophe_is_no_quotation_mark() -> None:
    assert quoted_strings("Ann's cat and the dog's bone, don't you know") == []
    assert quoted_strings("the students' books and the teachers' room") == []


def test_blank_quotations_are_none() -> None:
    assert quoted_strings('"" " "') == []


def test_words_with_a_digit_are_codes() -> None:
    assert words_with_digits("Is INV-2026-0417 paid, room 12B at 10:30?") == [
        "INV-2026-0417",
        "12B",
        "10:30",
    ]


def test_what_is_quoted_is_not_coded_as_well() -> None:
    assert words_with_digits('"order 66" and order 67') == ["67"]


@pytest.mark.timeout(10)  # A minute when the work grows with the square of the length.
def test_digits_of_other_scripts_are_digits_too() -> None:
    assert words_with_digits("room ٣٤٥ or x²") == ["٣٤٥", "x²"]


def test_quotation_marks_without_an_end_cost_little() -> None:
    assert quoted_strings("“" * 100_000) == quoted_strings("«" * 100_000) == []


@given(st.text(max_size=60))
def test_any_text_has_terms_that_are_folded_short_and_encodable(text: str) -> None:
    for term in terms(text):
        assert 0 < len(term) <= 64
        assert term == fold(term)
        if not any("\ud800" <= c <= "\udfff" for c in term):
            assert 0 <= term_id(term) < 2**64


def test_a_term_id_never_changes() -> None:
    assert term_id("lisbon") == 0x76CCF63A5DE6E087


def test_threads_do_not_mix_up_their_stems() -> None:
    # The stemmer keeps its word in itself; words no other test has used defeat the cache.
    words = [f"{a}{b}{end}" for a in "bcdfghkl" for b in ("ounting", "arments") for end in "abcde"]
    plain = Stemmer.Stemmer("english")
    expected = [plain.stemWord(word) for word in words]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(lambda w: [terms(each)[0] for each in w], words) for _ in range(8)]
            assert all(job.result() == expected for job in jobs)
    finally:
        sys.setswitchinterval(switch)


@given(st.text(alphabet="aBn09'.,_@/- \t't", max_size=90))
def test_ascii_is_cut_as_one_pattern_would_cut_it(text: str) -> None:
    low = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text.lower())
    words = re.findall(r"[a-z0-9]+(?:['._@/:+#-][a-z0-9]+)*", low)
    assert terms(text) == [each for word in words for each in terms_module._word_terms(word[:64])]


def test_what_was_met_is_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms_module, "_MOST_KNOWN", 3)
    for met in (terms_module._Pieces(), terms_module._Numbers()):
        for word in ("one", "two", "six", "ten"):
            assert met[word] == met[word]
        assert list(met) == ["ten"]
    pieces = terms_module._Pieces()
    assert pieces["x" * 65] == ("x" * 64,)
    assert not pieces, "what is that long is hardly met again"
