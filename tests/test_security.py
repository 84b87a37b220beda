"""The security checklist, line by line, with the tests that prove each line; a line that loses its test fails here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

CHECKLIST = {
    # Authentication and tokens
    "a Google token given to another client opens nothing": "test_google a_token_given_to_another_site_opens_",
    "an address Google has not verified links no account": "test_google an_address_google_has_not_verified_",
    "a Google that redirects, stalls or lies is unavailable": "test_google a_google_that_is_not_itself_is_",
    "none, RS256, truncated, expired, wrong type: no token": "test_tokens a_token_that_is_not_ours_is_invalid",
    "the wrong type is told before the expiry": "test_tokens the_wrong_type_is_said_before_the_expiry",
    "the scheme is Bearer and one token": "test_contract only_the_word_bearer_and_one_token_are_taken",
    "a key of fewer than 32 bytes starts nothing": "test_config a_wrong_setting_is_one_line_that_names_it",
    "a key is made once, for its owner alone": "test_keyfile a_secret_is_made_once_and_for_its_owner_alone",
    "a blocked account is out of every door": "test_blocking a_block_shuts_every_door_of_this_process_at_once",
    "a block from elsewhere is heeded": "test_blocking another_process_hears_of_a_block_and_ends_the_runs",
    "a deleted account's tokens are void": "test_blocking a_deleted_account_is_a_token_that_is_not_valid",
    "login takes as long for an unknown address": "test_timing login_takes_as_long_for_an_unknown_address",
    "so does a forgotten password": "test_timing forgotten_password_takes_as_long_for_an_unknown_address",
    "every wrong login gets one answer": "test_sign_in wrong_credentials_of_every_kind_get_one_answer",
    "argon2 leaves the loop": "test_passwords the_loop_goes_on_while_a_password_is_hashed",
    "argon2 has a bounded queue": "test_passwords more_than_the_queue_holds_is_told_to_come_back",
    "one account's password is tried so often": "test_sign_in guesses_at_one_account_from_many_addresses_",
    "by no spelling oftener": "test_sign_in no_spelling_of_a_name_has_guesses_of_its_own",
    "nor does that lock its owner out": "test_sign_in strangers_who_use_the_guesses_up_lock_no_owner_out",
    "what is guessed first is no password": "test_sign_in what_is_guessed_first_or_taken_for_another_is_refused",
    "nor is it a new one": "test_sign_in a_new_password_is_no_common_one_either",
    "two names of one mailbox are one": "test_sign_in gmail_and_googlemail_are_one_mailbox",
    "weaker hashes are replaced": "test_sign_in a_password_hash_of_weaker_parameters_is_replaced_at_login",
    "links are kept as hashes": "test_tokens link_tokens_are_unguessable_and_kept_as_hashes",
    "links work once": "test_links of_twenty_who_use_a_link_at_once_one_gets_through",
    "expired and wrong links look alike": "test_links an_expired_link_is_refused_like_a_wrong_one",
    "a new password ends mailed links": "test_links a_changed_password_ends_reset_links_that_were_mailed",
    "logs name the template of a path": "test_edge the_log_names_the_template_and_never_the_path",
    "the cookie opens the profile alone": "test_sign_in the_session_cookie_opens_the_profile_and_nothing_else",
    "an address that is asked for is nobody's yet": "test_proof an_address_that_is_asked_for_belongs_to_",
    "who had an address before its owner is out": "test_proof who_registered_a_strangers_address_is_out_",
    "nor does a link hand over what a thief has set": "test_proof a_stranger_who_follows_the_link_of_an_asked_",
    "the old address takes a change back": "test_proof the_old_address_takes_a_confirmed_change_back_",
    "and nobody takes that address meanwhile": "test_proof an_address_that_was_left_is_nobodys_while_",
    "refreshing outlives no end of tokens": "test_proof a_refreshed_token_is_as_old_as_its_sign_in",
    "a refresh chain ends": "test_tokens refreshing_ends_a_year_after_the_sign_in",
    "what is done with an account is kept and told": "test_proof what_is_done_with_an_account_is_kept_and_",
    "an operator ends all sign-ins": "test_account sessions_end_voids_what_was_signed_in_before",
    # Authorisation
    "a foreign id answers as a missing one": "test_contract a_strangers_id_answers_byte_for_byte_as_a_missing_one",
    "a body sets nothing of the service's: books": "test_books a_body_can_set_nothing_that_is_the_services",
    "… the profile": "test_profile the_whole_profile_sent_back_changes_no_server_field",
    "… a registration": "test_sign_in registration_takes_nothing_but_its_own_fields",
    "stopping before the end is no free book": "test_book a_run_stopped_after_a_chapter_keeps_its_hold",
    "nor is deleting it": "test_quota deleting_a_stopped_book_gives_nothing_back_this_period",
    "nor does it wait on who claims the address": "test_webhook what_a_guest_buys_waits_while_the_account_with_",
    "nor is stopping before the first chapter": "test_book a_run_stopped_before_its_first_chapter_keeps_its_hold_once",
    "outlines are no free model calls": "test_jobs outlines_and_reworks_beyond_three_of_a_book_count_as_edits",
    "an account's day has a cost": "test_crashes the_daily_cap_counts_all_books_of_the_account",
    "so has the server's": "test_crashes the_servers_daily_cap_counts_every_account_and_is_told",
    "open doors have caps unless told": "test_serving where_strangers_may_spend_the_operators_money_a_day_has_a_cap_",
    "the assistant's calls count as well": "test_assistant what_the_assistant_asks_is_in_the_ledger_and_under_the_",
    "a guest's purchase opens no known account": "test_webhook a_guest_with_a_known_address_is_credited_and_",
    # Input and resources
    "Markdown that explodes is plain text": "test_hostile markdown_that_explodes_is_read_at_once_as_the_text_",
    "notes in a chain are files": "test_hostile chained_notes_come_out_of_every_format",
    "an account has two render jobs at once": "test_turns an_account_has_two_at_once_and_another_does_not_wait_",
    "and its own line": "test_turns more_than_may_wait_are_refused_and_there_is_room_again_",
    "who has left has no job": "test_exports a_job_whose_caller_has_left_is_called_off",
    "a book that takes too long is tried once": "test_publishing what_took_too_long_is_not_tried_again_until_",
    "looking at pages is dear": "test_exports looking_at_the_pages_is_as_dear_as_an_export",
    "a render worker knows no secret": "test_pool a_worker_inherits_no_secret",
    "nor runs code in the service": "test_answers a_worker_that_was_taken_over_runs_nothing_here",
    "an account keeps so many bytes": "test_storage what_grows_is_refused_where_nothing_fits_any_more",
    "former texts too": "test_storage former_texts_count_by_their_bytes",
    "however many copies are made at once": "test_storage of_copies_made_at_the_same_moment_only_those_are_kept_",
    "nothing grows on a disk almost full": "test_storage on_a_disk_that_is_almost_full_nothing_grows_and_",
    "and every write says whether it grows": "test_storage every_write_either_grows_or_is_known_to_be_small",
    "500 slow senders leave others unaffected": "test_floods slow_senders_leave_others_unaffected_and_are_cut_off",
    "an address has so many connections": "test_floods an_address_has_so_many_connections_and_another_",
    "a body has a deadline": "test_edge a_body_that_never_ends_is_given_up",
    "a body has a size": "test_edge a_body_over_two_mebibytes_is_413",
    "NaN, NUL, surrogates, huge numbers": "test_odd_input every_field_takes_or_refuses_whatever_it_is_given",
    "what is no JSON object": "test_odd_input what_is_no_json_object_is_refused_under_non_field_errors",
    "what is no HTTP": "test_odd_input what_is_no_http_is_refused_in_the_envelope_with_every_header",
    "fields have bounds": "test_schemas a_books_field_keeps_its_bounds",
    "a forwarded address counts behind a trusted proxy": "test_limits the_client_is_the_last_hop_that_is_no_proxy",
    "and nowhere else": "test_limits without_trusted_proxies_the_header_counts_for_nothing",
    "IPv6 is counted by network": "test_limits ipv6_callers_are_counted_by_their_network",
    "the limiter's memory is bounded": "test_limits memory_stays_bounded_however_many_callers_come",
    "10,000 addresses": "test_floods ten_times_as_many_addresses_as_are_remembered_",
    "the slash rule leads to no other host": "test_contract the_slash_rule_never_leads_to_another_host",
    "rendering has a time": "test_pool a_job_that_takes_too_long_is_given_up_and_its_worker_replaced",
    "and a queue": "test_pool a_full_queue_refuses_at_once",
    # Content
    "no script gets into a file": "test_hostile no_script_and_no_foreign_address_gets_into_a_file",
    "markup in titles is text": "test_hostile markup_in_titles_is_text",
    "a title is no header and no path": "test_exports a_title_stays_a_title_in_the_name_of_the_file",
    "files name no part after the book": "test_exports no_part_of_a_file_is_named_after_the_book",
    "a user's text cannot leave its data block": "test_outline what_a_user_typed_cannot_close_its_data_block",
    "nor a question": "test_assistant a_question_cannot_close_its_block",
    "the assistant has a daily budget": "test_assistant a_day_has_a_bounded_number_of_model_calls",
    # Payments
    "a forged or stale event is refused": "test_webhook a_forged_or_stale_event_is_refused_without_effect",
    "an event is applied once": "test_webhook twenty_deliveries_at_once_have_one_effect",
    "in whatever order": "test_webhook every_order_and_repetition_of_events_ends_alike",
    "what an event says is looked up": "test_webhook an_event_that_lies_about_payment_is_checked_at_the_",
    "the balance is the ledger's": "test_ledger no_statement_parts_the_balance_from_the_ledger",
    "an event that cannot be read ends nothing": "test_webhook an_event_that_cannot_be_read_is_kept_told_and_skipped",
    # Operations
    "no letter leaves the machine in the clear": "test_mailing a_server_elsewhere_without_tls_gets_no_letter_unless_",
    "this machine is never banned": "test_abuse this_machine_is_no_origin_that_could_be_banned",
    "nor is a proxy": "test_abuse a_ban_never_covers_a_proxy",
    "a proxy that is not trusted is told of": "test_edge a_proxy_that_is_not_trusted_is_told_of_once_with_the_setting",
    "no process list shows a password": "test_account create_reads_a_password_from_standard_input",
    "names and shapes of secrets are redacted": "test_telemetry a_secret_never_reaches_the_log",
    "no canary in any log of the whole suite": "test_canaries a_leak_fails_the_run_though_every_test_passed",
    "the database's log has no statement": "test_embedded the_servers_log_holds_no_statement_of_ours",
    "browsers are held to it": "test_edge every_answer_says_what_browsers_may_not_do",
    "HSTS behind https": "test_edge behind_https_browsers_are_held_to_it",
    "CORS has a list": "test_edge only_listed_origins_are_told_that_they_may_read",
    "a 500 tells its request alone": "test_edge an_unforeseen_failure_tells_its_request_and_nothing_else",
    "unknown paths are 404": "test_contract what_is_not_in_the_table_is_a_404_in_the_envelope",
    "the embedded database has a password": "test_embedded the_server_is_behind_a_password_and_a_private_socket",
    "sessions are bounded": "test_database sessions_have_bounded_statements_locks_and_idle_transactions",
    "metrics are for the machine or a token": "test_site metrics_are_for_the_machine_itself_or_a_token",
}  # fmt: skip


@pytest.mark.parametrize("proof", CHECKLIST.values(), ids=CHECKLIST)
def test_every_line_of_the_checklist_has_its_test(proof: str) -> None:
    file, name = proof.split(" ")
    texts = [path.read_text() for path in TESTS.rglob(f"{file}.py")]

    assert any(re.search(rf"^(?:async )?def test_{name}\w*\(", text, re.MULTILINE) for text in texts)
