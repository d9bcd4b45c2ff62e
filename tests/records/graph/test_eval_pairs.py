"""The measurement of entity resolution."""

from scripts.eval_pairs import judge


def test_pairs_are_judged_and_who_else_may_be_meant_is_seen() -> None:
    pairs = [
        {"doc_id": "1", "a": "Bob", "b": "Bob Smith", "type": "PER", "same": True},
        {"doc_id": "2", "a": "Bob", "b": "Bob Smith", "type": "PER", "same": True},
        {"doc_id": "2", "a": "Bob", "b": "Bob Jones", "type": "PER", "same": False},
        {"doc_id": "2", "a": "GPT-4", "b": "GPT-5", "type": "MISC", "same": False},
    ]
    sure, one, other, veto = judge(pairs)
    assert sure.score >= 0.8
    assert sure.alone
    assert not one.alone
    assert not other.alone
    assert veto.score < 0.8
