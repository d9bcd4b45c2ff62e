"""The plain methods are what their names say."""

from recollect.bench.methods import PLAIN, offered
from recollect.config import Config


def test_recollect_comes_first_and_every_plain_method_is_offered() -> None:
    assert offered(Config())[0].overrides == {}
    assert offered(Config())[1:] == list(PLAIN)


def test_plain_methods_fuse_by_rank_whatever_the_default_is() -> None:
    for method in PLAIN:
        config = Config().override(method.overrides)
        assert (config.fusion, config.rrf.k) == ("rrf", 60)


def test_the_last_of_the_main_source_outweighs_the_first_of_the_other() -> None:
    for method in PLAIN[:2]:
        rrf = Config().override(method.overrides).rrf
        low, high = sorted((rrf.weights.keyword, rrf.weights.vector))
        assert high / (rrf.k + 100_000) > low / (rrf.k + 1)
