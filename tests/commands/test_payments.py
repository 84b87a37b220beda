"""`bookgen payments …`: setting up the processor, applying waiting events, reconciling."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest

from bookgen.billing.checkout import ReturnUrls
from bookgen.commands import payments as commands
from bookgen.errors import Unavailable
from bookgen.store import credits, subscriptions

NOWHERE = ReturnUrls()


@pytest.fixture
def command(payments, capsys):
    async def command(*words):
        parser = ArgumentParser()
        commands.add_options(parser)
        capsys.readouterr()
        await commands.carry_out(parser.parse_args(words), payments)
        return capsys.readouterr().out.splitlines()

    return command


async def test_a_dry_run_of_sync_lists_what_is_missing_and_creates_nothing(stripe, command):
    lines = await command("sync")

    assert "bookgen_plan_starter_monthly: the price is missing, should be 1900 cents" in lines
    assert "webhook: no events are sent to https://books.test/api/v1/webhooks/stripe/" in lines
    assert len(lines) == 13
    assert not stripe.objects


async def test_a_sync_creates_everything_and_the_next_one_finds_nothing_to_do(stripe, command):
    lines = await command("sync", "--apply")

    assert lines[-1].startswith("webhook: created; set STRIPE_WEBHOOK_SECRET=whsec_")
    assert await command("sync", "--apply") == ["nothing to do"]
    tags = {each["metadata"]["bookgen"] for each in stripe.objects.values() if each["object"] == "price"}
    assert len(tags) == 11
    assert "addon:childrens-book:per_use" in tags


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"status": "disabled"},
            "webhook: missing events: charge.dispute.closed, charge.dispute.created, charge.dispute.",
        ),
        (
            {"enabled_events": ["checkout.session.completed", "charge.refunded"]},
            "webhook: missing events: charge.dispute",
        ),
    ],
)
async def test_sync_adds_missing_events_to_the_webhook(stripe, command, change, says):
    await command("sync", "--apply")
    [webhook] = [each for each in stripe.objects.values() if each["object"] == "webhook_endpoint"]
    webhook.update(change)

    [line] = await command("sync", "--apply")

    assert line.startswith(says)
    assert await command("sync") == ["nothing to do"]


async def test_reconcile_ends_the_subscription_of_a_deleted_customer(
    pool, payments, stripe, make_account, deliver, command
):
    account = await make_account()
    session = await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    stripe.pay(session.session_id)
    await deliver()
    stripe.forget_business()

    said = await command("reconcile", "--mend")

    assert [line.partition(": ")[2] for line in said] == ["status is active, should be canceled"]
    assert (await subscriptions.find(pool, account)).status == "canceled"
    assert await command("reconcile") == ["nothing to do"]


async def test_replay_continues_past_objects_that_the_processor_no_longer_knows(
    pool, payments, stripe, make_account, deliver, command
):
    """As after switching from test keys to live keys."""
    session = await payments.buy_credits(await make_account(), "single", NOWHERE)
    stripe.pay(session.session_id)
    stripe.refund(session.session_id)
    await deliver()
    stripe.forget_business()

    lines = await command("replay", "--all")

    assert len(lines) == 2
    assert await pool.fetchval("SELECT sum(balance) FROM wallet") == 0


async def test_replay_applies_the_events_that_waited(pool, payments, stripe, make_account, deliver, command):
    account = await make_account()
    session = await payments.buy_credits(account, "single", NOWHERE)
    stripe.pay(session.session_id)
    stripe.wire.faults.extend([503, 503, 503])
    with pytest.raises(Unavailable):
        await deliver()

    lines = await command("replay")

    assert lines == [f"{stripe.events[0]['id']} checkout.session.completed: credits single: paid"]
    assert await credits.balance(pool, account) == 1
    assert await command("replay") == ["nothing to do"]
    assert len(await command("replay", "--all")) == 1
    assert await credits.balance(pool, account) == 1


async def test_an_event_that_fails_does_not_stop_the_others(pool, payments, stripe, make_account, deliver, command):
    account = await make_account()
    for _ in range(2):
        stripe.pay((await payments.buy_credits(account, "single", NOWHERE)).session_id)
    for event in stripe.events:
        stripe.wire.faults.extend([503, 503, 503])
        with pytest.raises(Unavailable):
            await deliver(event)
    stripe.wire.faults.append(400)

    lines = await command("replay")

    assert [line.partition(": ")[2] for line in lines] == [
        "not applied. The payment processor refused this request. The server's log has the reason.",
        "credits single: paid",
    ]
    assert await credits.balance(pool, account) == 1


async def test_reconcile_finds_lost_events_and_repairs_on_request(pool, payments, stripe, make_account, command):
    account = await make_account()
    pack = await payments.buy_credits(account, "five-pack", NOWHERE)
    plan = await payments.buy_plan(account, "pro", "monthly", NOWHERE)
    stripe.pay(pack.session_id)
    stripe.pay(plan.session_id)

    said = await command("reconcile")
    unmended = await credits.balance(pool, account)
    await command("reconcile", "--mend")

    assert f"{pack.session_id}: credits is None, should be 5" in said
    assert f"{pack.session_id}: status is open, should be paid" in said
    assert any("plan is free, should be pro" in line for line in said)
    assert unmended == 0
    assert await credits.balance(pool, account) == 5
    assert (await subscriptions.find(pool, account)).plan.slug == "pro"
    assert await command("reconcile") == ["nothing to do"]


async def test_reconcile_of_a_guest_changes_nothing_before_it_repairs(pool, payments, stripe, command):
    session = await payments.buy_credits(None, "single", NOWHERE)
    stripe.pay(session.session_id)

    await command("reconcile")

    assert await pool.fetchval("SELECT count(*) FROM account") == 0
    assert await pool.fetchval("SELECT count(*) FROM mail") == 0


@pytest.mark.parametrize("days", ["800000", "-1", "x"])
async def test_impossible_dates_are_refused_by_the_command_line(stripe, command, capsys, days):
    with pytest.raises(SystemExit):
        await command("reconcile", "--days", days)

    assert f"must be a number from 0 to 36500, not '{days}'" in capsys.readouterr().err
