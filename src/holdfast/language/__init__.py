"""What texts mean, told by rules: no store, no model, no clock. A text goes in, values come out.

Everybody stands on `lexicon` (lists of words), `sentences` (where they end), `terms` (words of the
search index), `tokens` (what a model counts) and `vocabulary` (types of entities and relations).

Which labelled file scores which rules (T is tests/language, D the data folder of the evaluation):

    mentions, extraction       T/locomo_spans, D/kg-redocred         scripts/eval_extraction.py
    relations                  T/relation_sentences*                 scripts/eval_extraction.py
    statements/facts, cues,    T/fact_sentences*                     scripts/eval_extraction.py
      gates
    names                      D/entity-pairs                        scripts/eval_pairs.py
    claims                     tests/records/facts/pairs.py          scripts/eval_facts.py
    instructions/rules         T/instructions, T/splits              T/test_rules_set.py
    instructions/own_words     tests/trust/pastes*, rules*           scripts/eval_pastes.py
    instructions/supersede     T/supersession                        T/test_supersede.py
    triggers                   tests/recall/task_messages*           tests/recall/test_profile.py

`dates`, `echo`, `statements/people` and `questions` have examples in their tests alone. The
files `*_unseen` and `*_fresh` and tests/trust/heldout* were written after the rules: do not tune on
them.
"""
