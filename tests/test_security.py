"""The security checklist, line by line, with the tests that prove each line; a line that loses its test fails here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

CHECKLIST = {
    # Authentication and tokens
    "a Google token given to another client opens nothing": "accounts/test_google a_token_given_to_another_site_opens_",
    "an address Google has not verified links no account": "accounts/test_google an_address_google_has_not_verified_",
    "a Google that redirects, stalls or lies is unavailable": "accounts/test_google a_google_that_is_not_itself_is_",
    "none, RS256, truncated, expired, wrong type: no token": "test_tokens a_token_that_is_not_ours_is_invalid",
    "the wrong type is told before the expiry": "test_tokens the_wrong_type_is_said_before_the_expiry",
    "the scheme is Bearer and one token": "http/test_contract only_the_word_bearer_and_one_token_are_taken",
    "a key of fewer than 32 bytes starts nothing": "test_config a_wrong_setting_is_one_line_that_names_it",
    "a key is made once, for its owner alone": "test_keyfile a_secret_is_made_once_and_for_its_owner_alone",
    "a blocked account is out of every door": "accounts/test_blocking a_block_shuts_every_door_of_this_process_at_once",
    "a block from elsewhere is heeded": "accounts/test_blocking another_process_hears_of_a_block_and_ends_the_runs",
    "a deleted account's tokens are void": "accounts/test_blocking a_deleted_account_is_a_token_that_is_not_valid",
    "login takes as long for an unknown address": "accounts/test_timing login_takes_as_long_for_an_unknown_address",
    "so does a forgotten password": "accounts/test_timing forgotten_password_takes_as_long_for_an_unknown_address",
    "every wrong login gets one answer": "accounts/test_sign_in wrong_credentials_of_every_kind_get_one_answer",
    "argon2 leaves the loop": "test_passwords the_loop_goes_on_while_a_password_is_hashed",
    "argon2 has a bounded queue": "test_passwords more_than_the_queue_holds_is_told_to_come_back",
    "one account's password is tried so often": "accounts/test_sign_in guesses_at_one_account_from_many_addresses_",
    "weaker hashes are replaced": "accounts/test_sign_in a_password_hash_of_weaker_parameters_is_replaced_at_login",
    "links are kept as hashes": "test_tokens link_tokens_are_unguessable_and_kept_as_hashes",
    "links work once": "accounts/test_links of_twenty_who_use_a_link_at_once_one_gets_through",
    "expired and wrong links look alike": "accounts/test_links an_expired_link_is_refused_like_a_wrong_one",
    "a new password ends mailed links": "accounts/test_links a_changed_password_ends_reset_links_that_were_mailed",
    "logs name the template of a path": "http/test_edge the_log_names_the_template_and_never_the_path",
    "the cookie opens the profile alone": "accounts/test_sign_in the_session_cookie_opens_the_profile_and_nothing_else",
    # Authorisation
    "a foreign id answers as a missing one": "http/test_contract a_strangers_id_answers_byte_for_byte_as_a_missing_one",
    "a body sets nothing of the service's: books": "http/test_books a_body_can_set_nothing_that_is_the_services",
    "… the profile": "accounts/test_profile the_whole_profile_sent_back_changes_no_server_field",
    "… a registration": "accounts/test_sign_in registration_takes_nothing_but_its_own_fields",
    "stopping before the end is no free book": "actors/test_book a_run_stopped_after_a_chapter_keeps_its_hold",
    "nor is deleting it": "billing/test_quota deleting_a_stopped_book_gives_nothing_back_this_period",
    "a guest's purchase opens no known account": "billing/test_webhook a_guest_with_a_known_address_is_credited_and_",
    # Input and resources
    "500 slow senders leave others unaffected": "http/test_floods slow_senders_leave_others_unaffected_and_are_cut_off",
    "an address has so many connections": "http/test_floods an_address_has_so_many_connections_and_another_",
    "a body has a deadline": "http/test_edge a_body_that_never_ends_is_given_up",
    "a body has a size": "http/test_edge a_body_over_two_mebibytes_is_413",
    "NaN, NUL, surrogates, huge numbers": "http/test_odd_input every_field_takes_or_refuses_whatever_it_is_given",
    "what is no JSON object": "http/test_odd_input what_is_no_json_object_is_refused_under_non_field_errors",
    "what is no HTTP": "http/test_odd_input what_is_no_http_is_refused_in_the_envelope_with_every_header",
    "fields have bounds": "http/test_schemas a_books_field_keeps_its_bounds",
    "a forwarded address counts behind a trusted proxy": "test_limits the_client_is_the_last_hop_that_is_no_proxy",
    "and nowhere else": "test_limits without_trusted_proxies_the_header_counts_for_nothing",
    "IPv6 is counted by network": "test_limits ipv6_callers_are_counted_by_their_network",
    "the limiter's memory is bounded": "test_limits memory_stays_bounded_however_many_callers_come",
    "10,000 addresses": "http/test_floods ten_thousand_addresses_leave_an_account_its_budget",
    "the slash rule leads to no other host": "http/test_contract the_slash_rule_never_leads_to_another_host",
    "rendering has a time": "render/test_pool a_job_that_takes_too_long_is_given_up_and_its_worker_replaced",
    "and a queue": "render/test_pool a_full_queue_refuses_at_once",
    # Content
    "no script gets into a file": "render/test_hostile no_script_and_no_foreign_address_gets_into_a_file",
    "markup in titles is text": "render/test_hostile markup_in_titles_is_text",
    "a title is no header and no path": "http/test_exports a_title_stays_a_title_in_the_name_of_the_file",
    "files name no part after the book": "http/test_exports no_part_of_a_file_is_named_after_the_book",
    "a user's text cannot leave its data block": "writing/test_outline what_a_user_typed_cannot_close_its_data_block",
    "nor a question": "test_support a_question_cannot_close_its_block",
    "the assistant has a daily budget": "test_support a_day_has_a_bounded_number_of_model_calls",
    # Payments
    "a forged or stale event is refused": "billing/test_webhook a_forged_or_stale_event_is_refused_without_effect",
    "an event is applied once": "billing/test_webhook twenty_deliveries_at_once_have_one_effect",
    "in whatever order": "billing/test_webhook every_order_and_repetition_of_events_ends_alike",
    "what an event says is looked up": "billing/test_webhook an_event_that_lies_about_payment_is_checked_at_the_",
    "the balance is the ledger's": "billing/test_ledger no_statement_parts_the_balance_from_the_ledger",
    # Operations
    "names and shapes of secrets are redacted": "test_telemetry a_secret_never_reaches_the_log",
    "no canary in any log of the whole suite": "test_canaries a_leak_fails_the_run_though_every_test_passed",
    "the database's log has no statement": "store/test_embedded the_servers_log_holds_no_statement_of_ours",
    "browsers are held to it": "http/test_edge every_answer_says_what_browsers_may_not_do",
    "HSTS behind https": "http/test_edge behind_https_browsers_are_held_to_it",
    "CORS has a list": "http/test_edge only_listed_origins_are_told_that_they_may_read",
    "a 500 tells its request alone": "http/test_edge an_unforeseen_failure_tells_its_request_and_nothing_else",
    "unknown paths are 404": "http/test_contract what_is_not_in_the_table_is_a_404_in_the_envelope",
    "the embedded database has a password": "store/test_embedded the_server_is_behind_a_password_and_a_private_socket",
    "sessions are bounded": "store/test_database sessions_have_bounded_statements_locks_and_idle_transactions",
    "metrics are for the machine or a token": "http/test_site metrics_are_for_the_machine_itself_or_a_token",
}  # fmt: skip


@pytest.mark.parametrize("proof", CHECKLIST.values(), ids=CHECKLIST)
def test_every_line_of_the_checklist_has_its_test(proof: str) -> None:
    file, name = proof.split(" ")

    assert re.search(rf"^(?:async )?def test_{name}\w*\(", (TESTS / f"{file}.py").read_text(), re.MULTILINE)
