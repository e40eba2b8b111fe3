"""What each term of the ELBO is for, as HFVAE's Fig. 3 says it."""

import pytest

from tests.experiments.ablations import measure, panels

pytestmark = pytest.mark.slow


def test_without_the_first_term_every_point_is_mapped_to_the_prior():
    assert measure(0).information > 1
    assert measure(1).information < 0.02
    assert measure(1).marginal_kl < 0.02


def test_without_the_second_every_point_has_a_smaller_region_of_its_own():
    assert measure(2).information > measure(0).information + 0.05


def test_without_the_third_the_model_does_not_match_the_data():
    assert measure(3).log_px < measure(0).log_px - 1


def test_without_the_fourth_the_codes_do_not_match_the_prior():
    assert measure(0).marginal_kl < 0.3
    assert measure(4).marginal_kl > measure(0).marginal_kl + 0.5


def test_the_panels_are_drawn():
    assert len(panels().axes) == 10
