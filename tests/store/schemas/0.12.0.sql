SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.count_day(today timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    uncounted bigint[];
BEGIN
    uncounted := ARRAY(SELECT id FROM model_call
                        WHERE created_at >= today AND created_at < today + interval '1 day'
                          AND cost_micros > 0 AND NOT counted);
    IF cardinality(uncounted) >= 100 THEN
        WITH locked AS (
            SELECT id FROM model_call WHERE id = ANY(uncounted) AND NOT counted FOR NO KEY UPDATE SKIP LOCKED
        ), added AS (
            UPDATE model_call SET counted = true WHERE id = ANY(ARRAY(SELECT id FROM locked)) RETURNING cost_micros
        )
        INSERT INTO day_cost (day, cost_micros) SELECT today, coalesce(sum(cost_micros), 0) FROM added
        ON CONFLICT (day) DO UPDATE SET cost_micros = day_cost.cost_micros + excluded.cost_micros;
    END IF;
END
$$;
CREATE FUNCTION public.folded(name text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN NORMALIZE(lower(NORMALIZE(name, NFKC)), NFKC);
CREATE FUNCTION public.folded_address(address text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN regexp_replace(public.folded(address), '@googlemail\.com$'::text, '@gmail.com'::text);
CREATE FUNCTION public.forget_media() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM media WHERE key = OLD.image_key OR key = to_jsonb(OLD) ->> 'thumbnail_key';
    RETURN NULL;
END
$$;
CREATE FUNCTION public.forget_old_revisions() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM chapter_revision
     WHERE chapter_id = NEW.chapter_id
       AND id <= (SELECT id FROM chapter_revision WHERE chapter_id = NEW.chapter_id ORDER BY id DESC OFFSET 20 LIMIT 1);
    RETURN NULL;
END
$$;
CREATE FUNCTION public.give_slot_to_new_account() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO account_slot (account_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.leave_file() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE stored_file SET state = 'unused' WHERE id = OLD.file_id;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.refuse_change_of_ledger() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF current_setting('bookgen.leaving', true) = OLD.account_id::text THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the credit ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE FUNCTION public.refuse_reserved_address() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT FROM former_address
                WHERE email_key = NEW.email_key AND account_id <> NEW.id AND reserved_until > now()) THEN
        RAISE EXCEPTION 'this address may still be taken back'
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'account_email';
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.require_equal_balance() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    holder bigint := CASE TG_OP WHEN 'DELETE' THEN OLD.account_id ELSE NEW.account_id END;
    shown  bigint := (SELECT balance FROM wallet WHERE account_id = holder);
    booked bigint := (SELECT coalesce(sum(amount), 0) FROM credit_transaction WHERE account_id = holder);
    lots   bigint := (SELECT coalesce(sum(remaining), 0) FROM credit_lot WHERE account_id = holder);
BEGIN
    IF coalesce(shown, 0) <> booked OR booked <> lots THEN
        RAISE EXCEPTION 'account %: balance %, ledger %, lots %', holder, shown, booked, lots
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.reserve_cost(call uuid, account bigint, book bigint, micros bigint, book_cap bigint, account_cap bigint, day_cap bigint, OUT cap text, OUT spent bigint, OUT reserved bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    today timestamptz := date_trunc('day', now());
BEGIN
    PERFORM pg_advisory_xact_lock(1668244340, CASE WHEN day_cap IS NULL THEN hashint8(coalesce(account, 0)) ELSE 0 END);
    SELECT bound.name, bound.spent, bound.reserved INTO cap, spent, reserved
      FROM (SELECT 1 AS place, 'book' AS name, book_cap AS most,
                   (SELECT coalesce(sum(cost_micros), 0) FROM model_call WHERE book_id = book) AS spent,
                   (SELECT coalesce(sum(cost_micros), 0) FROM cost_reservation
                     WHERE book_id = book AND created_at >= today AND call_id <> call) AS reserved
             WHERE book_cap IS NOT NULL
             UNION ALL
            SELECT 2, 'account_day', account_cap,
                   (SELECT coalesce(sum(cost_micros), 0) FROM model_call
                     WHERE account_id = account AND created_at >= today),
                   (SELECT coalesce(sum(cost_micros), 0) FROM cost_reservation
                     WHERE account_id = account AND created_at >= today AND call_id <> call)
             WHERE account_cap IS NOT NULL
             UNION ALL
            SELECT 3, 'day', day_cap,
                   (SELECT coalesce(sum(cost_micros), 0) FROM day_cost WHERE day = today)
                   + (SELECT coalesce(sum(cost_micros), 0) FROM model_call
                       WHERE created_at >= today AND cost_micros > 0 AND NOT counted),
                   (SELECT coalesce(sum(cost_micros), 0) FROM cost_reservation
                     WHERE created_at >= today AND call_id <> call)
             WHERE day_cap IS NOT NULL) AS bound
     WHERE bound.spent >= bound.most OR bound.spent + bound.reserved + micros > bound.most
     ORDER BY bound.place
     LIMIT 1;
    IF cap IS NULL AND micros > 0 THEN
        INSERT INTO cost_reservation (call_id, account_id, book_id, cost_micros)
        VALUES (call, account, book, micros)
        ON CONFLICT DO NOTHING;
    END IF;
    IF day_cap IS NOT NULL THEN
        PERFORM count_day(today);
    END IF;
END
$$;
CREATE FUNCTION public.settle_reservation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    reserved_at timestamptz;
BEGIN
    DELETE FROM cost_reservation WHERE call_id = NEW.call_id RETURNING created_at INTO reserved_at;
    NEW.created_at := coalesce(reserved_at, NEW.created_at);
    RETURN NEW;
END
$$;
CREATE FUNCTION public.subscribe_new_account() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO subscription (account_id, plan_id, anchor)
    SELECT NEW.id, plan.id, NEW.created_at FROM plan WHERE plan.slug = 'free'
    ON CONFLICT (account_id) DO NOTHING;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.take_file() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE stored_file SET state = 'used' WHERE id = NEW.file_id AND state = 'new';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'stored file % is not new', NEW.file_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.account (
    id bigint NOT NULL,
    username text NOT NULL,
    email text NOT NULL,
    password_hash text,
    first_name text DEFAULT ''::text NOT NULL,
    last_name text DEFAULT ''::text NOT NULL,
    email_verified boolean DEFAULT false NOT NULL,
    avatar_url text,
    google_subject text,
    is_staff boolean DEFAULT false NOT NULL,
    is_superuser boolean DEFAULT false NOT NULL,
    fingerprint text,
    blocked_at timestamp with time zone,
    blocked_reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    username_key text GENERATED ALWAYS AS (public.folded(username)) STORED NOT NULL,
    email_key text GENERATED ALWAYS AS (public.folded_address(email)) STORED NOT NULL,
    pending_email text,
    tokens_valid_from timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    pending_proven boolean DEFAULT false NOT NULL,
    pending_approved boolean DEFAULT false NOT NULL
);
CREATE TABLE public.account_addon (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    addon_id bigint NOT NULL,
    billing_type text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    processor_id text,
    current_period_end timestamp with time zone,
    past_due_since timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT account_addon_billing_type_check CHECK ((billing_type = ANY (ARRAY['monthly'::text, 'per_use'::text]))),
    CONSTRAINT account_addon_past_due_since CHECK (((status <> 'past_due'::text) OR (past_due_since IS NOT NULL))),
    CONSTRAINT account_addon_status_check CHECK ((status = ANY (ARRAY['active'::text, 'trialing'::text, 'past_due'::text, 'canceled'::text, 'incomplete'::text])))
);
ALTER TABLE public.account_addon ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.account_addon_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.account ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.account_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.account_origin (
    account_id bigint NOT NULL,
    kind text NOT NULL,
    value text NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT account_origin_kind_check CHECK ((kind = ANY (ARRAY['fingerprint'::text, 'address'::text])))
);
CREATE TABLE public.account_slot (
    account_id bigint NOT NULL,
    version bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.addon (
    id bigint NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    price_monthly numeric(10,2),
    price_per_use numeric(10,2),
    is_active boolean DEFAULT true NOT NULL,
    sort_order integer DEFAULT 0 NOT NULL,
    CONSTRAINT addon_check CHECK (((price_monthly IS NOT NULL) OR (price_per_use IS NOT NULL))),
    CONSTRAINT addon_price_monthly_check CHECK ((price_monthly > (0)::numeric)),
    CONSTRAINT addon_price_per_use_check CHECK ((price_per_use > (0)::numeric))
);
ALTER TABLE public.addon ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.addon_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.addon_use (
    run_id uuid NOT NULL,
    account_addon_id bigint NOT NULL,
    book_id bigint,
    held_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone,
    kept_until timestamp with time zone,
    paid_for boolean DEFAULT false NOT NULL,
    checkout_id bigint
);
CREATE TABLE public.audit (
    id bigint NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    account_id bigint,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.backup (
    id bigint NOT NULL,
    made_at timestamp with time zone NOT NULL,
    drilled boolean NOT NULL,
    bytes bigint NOT NULL,
    file text NOT NULL,
    missing integer DEFAULT 0 NOT NULL
);
ALTER TABLE public.backup ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.backup_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ban (
    kind text NOT NULL,
    value text NOT NULL,
    account_id bigint,
    reason text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ban_kind_check CHECK ((kind = ANY (ARRAY['fingerprint'::text, 'address'::text])))
);
CREATE TABLE public.blurb_draft (
    book_id bigint NOT NULL,
    task uuid NOT NULL,
    owner uuid,
    tries integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.book (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    title text NOT NULL,
    subtitle text DEFAULT ''::text NOT NULL,
    author_name text DEFAULT ''::text NOT NULL,
    genre text DEFAULT ''::text NOT NULL,
    target_audience text DEFAULT ''::text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    style_notes text DEFAULT ''::text NOT NULL,
    chapter_count integer NOT NULL,
    target_word_count integer NOT NULL,
    trim_size text NOT NULL,
    content_language text NOT NULL,
    status text DEFAULT 'draft'::text NOT NULL,
    bible jsonb DEFAULT '{}'::jsonb NOT NULL,
    funding_source text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    outlines_made integer DEFAULT 0 NOT NULL,
    kind text DEFAULT 'prose'::text NOT NULL,
    age_range text,
    theme text DEFAULT ''::text NOT NULL,
    characters jsonb DEFAULT '[]'::jsonb NOT NULL,
    character_sheet_key text,
    blurb text DEFAULT ''::text NOT NULL,
    authored_bible jsonb DEFAULT '{}'::jsonb NOT NULL,
    bible_changes jsonb DEFAULT '[]'::jsonb NOT NULL,
    cover_idea jsonb,
    export_settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT book_age_range_check CHECK ((age_range = ANY (ARRAY['0-3'::text, '3-5'::text, '6-8'::text, '9-12'::text]))),
    CONSTRAINT book_chapter_count_check CHECK (((chapter_count >= 1) AND (chapter_count <= 100))),
    CONSTRAINT book_funding_source_check CHECK ((funding_source = ANY (ARRAY['subscription'::text, 'credits'::text]))),
    CONSTRAINT book_kind_check CHECK ((kind = ANY (ARRAY['prose'::text, 'childrens'::text]))),
    CONSTRAINT book_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'outline'::text, 'generating'::text, 'completed'::text]))),
    CONSTRAINT book_target_word_count_check CHECK ((target_word_count > 0)),
    CONSTRAINT childrens_have_an_age CHECK (((kind = 'childrens'::text) = (age_range IS NOT NULL)))
)
WITH (fillfactor='70');
ALTER TABLE public.book ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.book_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.book_job (
    book_id bigint NOT NULL,
    owner uuid NOT NULL,
    kind text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    edits integer DEFAULT 0 NOT NULL,
    unpaid_words integer DEFAULT 0 NOT NULL,
    CONSTRAINT book_job_edits_check CHECK ((edits >= 0)),
    CONSTRAINT book_job_unpaid_words_check CHECK ((unpaid_words >= 0))
);
CREATE TABLE public.caller_bucket (
    name text NOT NULL,
    caller text NOT NULL,
    tokens double precision NOT NULL,
    touched_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    full_at timestamp with time zone NOT NULL
);
CREATE TABLE public.chapter (
    id bigint NOT NULL,
    book_id bigint NOT NULL,
    chapter_number integer NOT NULL,
    title text NOT NULL,
    summary text DEFAULT ''::text NOT NULL,
    content text DEFAULT ''::text NOT NULL,
    word_count integer DEFAULT 0 NOT NULL,
    target_word_count integer NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    content_version bigint DEFAULT 0 NOT NULL,
    quality jsonb DEFAULT '[]'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    rewrite_run uuid,
    writer text DEFAULT ''::text NOT NULL,
    written_at timestamp with time zone,
    plan jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT chapter_chapter_number_check CHECK ((chapter_number >= 1)),
    CONSTRAINT chapter_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'writing'::text, 'completed'::text, 'error'::text]))),
    CONSTRAINT chapter_target_word_count_check CHECK ((target_word_count >= 0))
);
ALTER TABLE ONLY public.chapter ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE public.chapter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.chapter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chapter_revision (
    id bigint NOT NULL,
    chapter_id bigint NOT NULL,
    origin text NOT NULL,
    content text NOT NULL,
    word_count integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    title text,
    summary text,
    writer text DEFAULT ''::text NOT NULL,
    written_at timestamp with time zone,
    CONSTRAINT chapter_revision_plan CHECK (((title IS NULL) = (summary IS NULL)))
);
ALTER TABLE ONLY public.chapter_revision ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE public.chapter_revision ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.chapter_revision_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.checkout (
    id bigint NOT NULL,
    key uuid DEFAULT gen_random_uuid() NOT NULL,
    account_id bigint,
    kind text NOT NULL,
    slug text NOT NULL,
    billing text NOT NULL,
    amount_cents integer NOT NULL,
    credits integer,
    words_per_book integer,
    session_id text,
    payment_intent text,
    status text DEFAULT 'open'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    buyer_email text,
    refunded_credits integer DEFAULT 0 NOT NULL,
    CONSTRAINT checkout_amount_cents_check CHECK ((amount_cents > 0)),
    CONSTRAINT checkout_billing_check CHECK ((billing = ANY (ARRAY['monthly'::text, 'yearly'::text, 'per_use'::text, 'once'::text]))),
    CONSTRAINT checkout_check CHECK (((kind <> 'credits'::text) OR ((credits IS NOT NULL) AND (words_per_book IS NOT NULL)))),
    CONSTRAINT checkout_credits_check CHECK ((credits > 0)),
    CONSTRAINT checkout_kind_check CHECK ((kind = ANY (ARRAY['plan'::text, 'addon'::text, 'credits'::text]))),
    CONSTRAINT checkout_status_check CHECK ((status = ANY (ARRAY['open'::text, 'paid'::text, 'failed'::text, 'expired'::text, 'refunded'::text]))),
    CONSTRAINT checkout_words_per_book_check CHECK ((words_per_book > 0))
);
ALTER TABLE public.checkout ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.checkout_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.consumption (
    run_id uuid NOT NULL,
    account_id bigint NOT NULL,
    book_id bigint,
    source text NOT NULL,
    lot_id bigint,
    period_start timestamp with time zone NOT NULL,
    words integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT consumption_source_check CHECK ((source = ANY (ARRAY['subscription'::text, 'credits'::text])))
);
CREATE TABLE public.cost_reservation (
    call_id uuid NOT NULL,
    account_id bigint,
    book_id bigint,
    cost_micros bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT cost_reservation_cost_micros_check CHECK ((cost_micros >= 0))
);
CREATE TABLE public.cover (
    id bigint NOT NULL,
    book_id bigint NOT NULL,
    style text NOT NULL,
    prompt text DEFAULT ''::text NOT NULL,
    image_key text NOT NULL,
    thumbnail_key text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    is_selected boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    design jsonb
);
ALTER TABLE public.cover ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.cover_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.credit_lot (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    checkout_id bigint,
    credits integer NOT NULL,
    remaining integer NOT NULL,
    words_per_book integer NOT NULL,
    refund_due integer DEFAULT 0 NOT NULL,
    taken_back integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT credit_lot_check CHECK (((remaining >= 0) AND (remaining <= credits))),
    CONSTRAINT credit_lot_check1 CHECK (((refund_due >= 0) AND (refund_due <= credits))),
    CONSTRAINT credit_lot_check2 CHECK (((taken_back >= 0) AND (taken_back <= refund_due))),
    CONSTRAINT credit_lot_credits_check CHECK ((credits > 0)),
    CONSTRAINT credit_lot_words_per_book_check CHECK ((words_per_book > 0))
);
ALTER TABLE public.credit_lot ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.credit_lot_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.credit_package (
    id bigint NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    credits integer NOT NULL,
    price_cents integer NOT NULL,
    words_per_book integer NOT NULL,
    is_popular boolean DEFAULT false NOT NULL,
    is_active boolean DEFAULT true NOT NULL,
    display_order integer DEFAULT 0 NOT NULL,
    CONSTRAINT credit_package_credits_check CHECK ((credits > 0)),
    CONSTRAINT credit_package_price_cents_check CHECK ((price_cents > 0)),
    CONSTRAINT credit_package_words_per_book_check CHECK ((words_per_book > 0))
);
ALTER TABLE public.credit_package ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.credit_package_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.credit_transaction (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    lot_id bigint NOT NULL,
    kind text NOT NULL,
    amount integer NOT NULL,
    balance_after integer NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    book_id bigint,
    run_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT credit_transaction_amount_check CHECK ((amount <> 0)),
    CONSTRAINT credit_transaction_balance_after_check CHECK ((balance_after >= 0)),
    CONSTRAINT credit_transaction_check1 CHECK (((kind = 'book_spend'::text) = (run_id IS NOT NULL))),
    CONSTRAINT credit_transaction_kind_check CHECK ((kind = ANY (ARRAY['purchase'::text, 'book_spend'::text, 'refund'::text, 'bonus'::text]))),
    CONSTRAINT credit_transaction_one_credit_a_book CHECK (((kind <> 'book_spend'::text) OR (amount = '-1'::integer))),
    CONSTRAINT credit_transaction_sign CHECK (((kind = 'refund'::text) OR ((amount > 0) = (kind = ANY (ARRAY['purchase'::text, 'bonus'::text])))))
);
ALTER TABLE public.credit_transaction ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.credit_transaction_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.day_cost (
    day timestamp with time zone NOT NULL,
    cost_micros bigint NOT NULL
);
CREATE TABLE public.digest (
    chapter_id bigint NOT NULL,
    content_hash text NOT NULL,
    summary text NOT NULL,
    facts jsonb DEFAULT '[]'::jsonb NOT NULL,
    threads_opened jsonb DEFAULT '[]'::jsonb NOT NULL,
    threads_closed jsonb DEFAULT '[]'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.dismissal (
    book_id bigint NOT NULL,
    fingerprint text NOT NULL
);
CREATE TABLE public.export_count (
    account_id bigint NOT NULL,
    kind text NOT NULL,
    exports bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.export_file (
    book_id bigint NOT NULL,
    digest text NOT NULL,
    kind text NOT NULL,
    body bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    file_id bigint,
    CONSTRAINT export_file_is_somewhere CHECK ((num_nonnulls(body, file_id) = 1))
);
ALTER TABLE ONLY public.export_file ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE public.fact (
    id bigint NOT NULL,
    chapter_id bigint NOT NULL,
    content_hash text NOT NULL,
    kind text NOT NULL,
    event text,
    subject text NOT NULL,
    value text NOT NULL,
    quote text NOT NULL,
    correction text,
    status text DEFAULT 'settled'::text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    CONSTRAINT fact_quote_check CHECK ((quote <> ''::text)),
    CONSTRAINT fact_status_check CHECK ((status = ANY (ARRAY['settled'::text, 'intended'::text, 'wrong'::text])))
);
ALTER TABLE public.fact ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.fact_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.former_address (
    email_key text NOT NULL,
    account_id bigint NOT NULL,
    reserved_until timestamp with time zone NOT NULL
);
CREATE TABLE public.hold (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    book_id bigint,
    run_id uuid,
    source text NOT NULL,
    lot_id bigint,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone NOT NULL,
    kept_until timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    words_before bigint,
    CONSTRAINT hold_check CHECK (((source = 'credits'::text) = (lot_id IS NOT NULL))),
    CONSTRAINT hold_check1 CHECK (((run_id IS NULL) = (kept_until IS NOT NULL))),
    CONSTRAINT hold_source_check CHECK ((source = ANY (ARRAY['subscription'::text, 'credits'::text])))
);
ALTER TABLE public.hold ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.hold_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.idempotency_key (
    account_id bigint NOT NULL,
    key text NOT NULL,
    request bytea NOT NULL,
    owner uuid NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    status integer,
    answer bytea,
    book_id bigint
);
CREATE TABLE public.illustration (
    id bigint NOT NULL,
    chapter_id bigint NOT NULL,
    caption text DEFAULT ''::text NOT NULL,
    alt_text text NOT NULL,
    prompt text DEFAULT ''::text NOT NULL,
    image_key text NOT NULL,
    "position" integer NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT illustration_alt_text_check CHECK ((alt_text <> ''::text)),
    CONSTRAINT illustration_position_check CHECK (("position" >= 0))
);
ALTER TABLE public.illustration ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.illustration_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.image_hold (
    id uuid NOT NULL,
    account_id bigint NOT NULL,
    images integer NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone NOT NULL,
    held_until timestamp with time zone NOT NULL,
    CONSTRAINT image_hold_images_check CHECK ((images > 0))
);
CREATE TABLE public.link (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    purpose text NOT NULL,
    email text NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT link_purpose_check CHECK ((purpose = ANY (ARRAY['verify-email'::text, 'reset-password'::text, 'magic-login'::text, 'undo-email'::text, 'approve-email'::text])))
);
ALTER TABLE public.link ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.link_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.mail (
    id bigint NOT NULL,
    purpose text NOT NULL,
    email text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    last_error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    account_id bigint,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT mail_purpose_check CHECK ((purpose = ANY (ARRAY['verify-email'::text, 'reset-password'::text, 'magic-login'::text, 'undo-email'::text, 'approve-email'::text, 'receipt'::text, 'password-changed'::text, 'google-linked'::text, 'new-sign-in'::text])))
);
ALTER TABLE public.mail ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.mail_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.media (
    key text NOT NULL,
    book_id bigint NOT NULL,
    body bytea,
    width integer NOT NULL,
    height integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    source_type text DEFAULT 'trainedAlgorithmicMedia'::text NOT NULL,
    file_id bigint,
    CONSTRAINT media_height_check CHECK ((height > 0)),
    CONSTRAINT media_is_somewhere CHECK ((num_nonnulls(body, file_id) = 1)),
    CONSTRAINT media_key_check CHECK ((length(key) >= 32)),
    CONSTRAINT media_source_type_check CHECK ((source_type = ANY (ARRAY['trainedAlgorithmicMedia'::text, 'compositeWithTrainedAlgorithmicMedia'::text, 'algorithmicMedia'::text]))),
    CONSTRAINT media_width_check CHECK ((width > 0))
);
ALTER TABLE ONLY public.media ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE public.model_call (
    id bigint NOT NULL,
    account_id bigint,
    book_id bigint,
    run_id uuid,
    stage text NOT NULL,
    chapter_number integer,
    model text NOT NULL,
    input_tokens bigint DEFAULT 0 NOT NULL,
    output_tokens bigint DEFAULT 0 NOT NULL,
    cache_write_tokens bigint DEFAULT 0 NOT NULL,
    cache_read_tokens bigint DEFAULT 0 NOT NULL,
    images integer DEFAULT 0 NOT NULL,
    cost_micros bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    call_id uuid,
    counted boolean DEFAULT false NOT NULL
);
ALTER TABLE public.model_call ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.model_call_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.past_usage (
    model text NOT NULL,
    calls bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    cache_read_tokens bigint NOT NULL,
    images bigint NOT NULL,
    cost_micros bigint NOT NULL,
    unknown_price boolean NOT NULL
);
CREATE TABLE public.past_usage_end (
    last_id bigint NOT NULL
);
CREATE TABLE public.payment_customer (
    account_id bigint NOT NULL,
    customer_id text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.payment_event (
    id text NOT NULL,
    type text NOT NULL,
    payload jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    applied_at timestamp with time zone,
    outcome text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.payment_object (
    id text NOT NULL,
    version bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.plan (
    id bigint NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    price_monthly numeric(10,2) NOT NULL,
    price_yearly numeric(10,2) NOT NULL,
    is_active boolean DEFAULT true NOT NULL,
    sort_order integer DEFAULT 0 NOT NULL,
    features jsonb NOT NULL,
    CONSTRAINT plan_features CHECK (((NOT (jsonb_typeof((features -> 'books_per_month'::text)) IS DISTINCT FROM 'number'::text)) AND (NOT (jsonb_typeof((features -> 'ai_images_per_month'::text)) IS DISTINCT FROM 'number'::text)) AND (NOT (jsonb_typeof((features -> 'ai_edits_per_month'::text)) IS DISTINCT FROM 'number'::text)) AND (NOT (jsonb_typeof((features -> 'proofreading_checks_per_month'::text)) IS DISTINCT FROM 'number'::text)) AND (NOT (jsonb_typeof((features -> 'max_word_count_per_book'::text)) IS DISTINCT FROM 'number'::text)) AND (NOT (jsonb_typeof((features -> 'max_stored_mb'::text)) IS DISTINCT FROM 'number'::text)) AND (NOT (jsonb_typeof((features -> 'export_formats'::text)) IS DISTINCT FROM 'array'::text)) AND (NOT (jsonb_typeof((features -> 'watermark'::text)) IS DISTINCT FROM 'boolean'::text)) AND (NOT (jsonb_typeof((features -> 'chapter_images'::text)) IS DISTINCT FROM 'boolean'::text)))),
    CONSTRAINT plan_price_monthly_check CHECK ((price_monthly >= (0)::numeric)),
    CONSTRAINT plan_price_yearly_check CHECK ((price_yearly >= (0)::numeric))
);
ALTER TABLE public.plan ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.plan_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.process (
    boot_id uuid NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    pid_started text NOT NULL,
    probation uuid,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    draining boolean DEFAULT false NOT NULL,
    alone boolean,
    writer text DEFAULT ''::text NOT NULL,
    any_writer boolean DEFAULT true NOT NULL,
    role text DEFAULT 'both'::text NOT NULL
);
CREATE TABLE public.rate_bucket (
    account_id bigint NOT NULL,
    name text NOT NULL,
    tokens double precision NOT NULL,
    touched_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.reconciliation (
    due_at timestamp with time zone NOT NULL
);
CREATE TABLE public.registration (
    network text NOT NULL,
    day date DEFAULT CURRENT_DATE NOT NULL,
    accounts integer NOT NULL
);
CREATE TABLE public.report (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    book_id bigint NOT NULL,
    task uuid NOT NULL,
    chapter_ids bigint[] NOT NULL,
    done integer DEFAULT 0 NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    failure jsonb,
    owner uuid,
    epoch bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    completed_at timestamp with time zone,
    run_id uuid,
    unread jsonb DEFAULT '[]'::jsonb NOT NULL,
    kind text DEFAULT 'proofreading'::text NOT NULL,
    CONSTRAINT report_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'completed'::text, 'error'::text])))
);
ALTER TABLE public.report ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.report_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.restored_copy (
    backup_made_at timestamp with time zone NOT NULL,
    restored_at timestamp with time zone DEFAULT now() NOT NULL,
    continued_at timestamp with time zone
);
CREATE SEQUENCE public.run_queue
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.run (
    id uuid NOT NULL,
    book_id bigint NOT NULL,
    account_id bigint NOT NULL,
    status text NOT NULL,
    mode text NOT NULL,
    total integer NOT NULL,
    done integer DEFAULT 0 NOT NULL,
    written integer DEFAULT 0 NOT NULL,
    call_no integer DEFAULT 0 NOT NULL,
    call_started_at timestamp with time zone,
    current_chapter integer,
    words_written integer DEFAULT 0 NOT NULL,
    writing_seconds double precision DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    owner uuid,
    crash_count integer DEFAULT 0 NOT NULL,
    queue_seq bigint DEFAULT nextval('public.run_queue'::regclass) NOT NULL,
    failure jsonb,
    last_op uuid,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    words_counted bigint DEFAULT 0 NOT NULL,
    phase text DEFAULT 'chapters'::text NOT NULL,
    remark text DEFAULT ''::text NOT NULL,
    writer text,
    draft_words integer DEFAULT 0 NOT NULL,
    salt uuid,
    words_lost bigint DEFAULT 0 NOT NULL,
    lost_calls uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    makes_cover boolean DEFAULT true NOT NULL,
    CONSTRAINT run_draft_words_check CHECK ((draft_words >= 0)),
    CONSTRAINT run_mode_check CHECK ((mode = ANY (ARRAY['full'::text, 'continue'::text, 'automated'::text]))),
    CONSTRAINT run_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text, 'stopped'::text, 'completed'::text, 'error'::text]))),
    CONSTRAINT run_words_lost_check CHECK ((words_lost >= 0))
)
WITH (fillfactor='70');
CREATE TABLE public.schema_migration (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.server_secret (
    singleton boolean DEFAULT true NOT NULL,
    fingerprint text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT server_secret_singleton_check CHECK (singleton)
);
CREATE TABLE public.signing_key (
    id bigint NOT NULL,
    sealed bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.signing_key ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.signing_key_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.step (
    book_id bigint NOT NULL,
    key text NOT NULL,
    run_id uuid,
    stage text NOT NULL,
    chapter_number integer,
    reply jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.stored_file (
    id bigint NOT NULL,
    place text NOT NULL,
    name text NOT NULL,
    size bigint NOT NULL,
    sha256 bytea NOT NULL,
    state text DEFAULT 'new'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT stored_file_name_check CHECK ((name ~ '^[0-9a-f]{40}$'::text)),
    CONSTRAINT stored_file_sha256_check CHECK ((octet_length(sha256) = 32)),
    CONSTRAINT stored_file_size_check CHECK ((size >= 0)),
    CONSTRAINT stored_file_state_check CHECK ((state = ANY (ARRAY['new'::text, 'used'::text, 'unused'::text])))
);
ALTER TABLE public.stored_file ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.stored_file_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.subscription (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    plan_id bigint NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    billing_interval text,
    anchor timestamp with time zone DEFAULT now() NOT NULL,
    current_period_end timestamp with time zone,
    past_due_since timestamp with time zone,
    cancel_at_period_end boolean DEFAULT false NOT NULL,
    processor_id text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    next_plan_id bigint,
    next_interval text,
    CONSTRAINT subscription_billing_interval_check CHECK ((billing_interval = ANY (ARRAY['monthly'::text, 'yearly'::text]))),
    CONSTRAINT subscription_next_interval_check CHECK ((next_interval = ANY (ARRAY['monthly'::text, 'yearly'::text]))),
    CONSTRAINT subscription_past_due_since CHECK (((status <> 'past_due'::text) OR (past_due_since IS NOT NULL))),
    CONSTRAINT subscription_status_check CHECK ((status = ANY (ARRAY['active'::text, 'trialing'::text, 'past_due'::text, 'canceled'::text, 'incomplete'::text])))
);
ALTER TABLE public.subscription ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.subscription_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.suggestion (
    id bigint NOT NULL,
    report_id bigint NOT NULL,
    chapter_id bigint NOT NULL,
    type text NOT NULL,
    severity text NOT NULL,
    original_text text NOT NULL,
    suggested_text text,
    explanation text NOT NULL,
    source text NOT NULL,
    start_offset integer NOT NULL,
    end_offset integer NOT NULL,
    prefix text NOT NULL,
    suffix text NOT NULL,
    content_version bigint NOT NULL,
    fingerprint text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    CONSTRAINT suggestion_severity_check CHECK ((severity = ANY (ARRAY['critical'::text, 'major'::text, 'minor'::text, 'info'::text]))),
    CONSTRAINT suggestion_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'applied'::text, 'dismissed'::text, 'stale'::text])))
);
ALTER TABLE public.suggestion ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.suggestion_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.usage_period (
    account_id bigint NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone NOT NULL,
    books_created integer DEFAULT 0 NOT NULL,
    ai_images_generated integer DEFAULT 0 NOT NULL,
    ai_edits_used integer DEFAULT 0 NOT NULL,
    proofreading_checks_used integer DEFAULT 0 NOT NULL,
    words_generated bigint DEFAULT 0 NOT NULL,
    free_outlines integer DEFAULT 0 NOT NULL,
    unpaid_words integer DEFAULT 0 NOT NULL,
    failed_jobs integer DEFAULT 0 NOT NULL,
    CONSTRAINT usage_period_ai_edits_used_check CHECK ((ai_edits_used >= 0)),
    CONSTRAINT usage_period_ai_images_generated_check CHECK ((ai_images_generated >= 0)),
    CONSTRAINT usage_period_books_created_check CHECK ((books_created >= 0)),
    CONSTRAINT usage_period_failed_jobs_check CHECK ((failed_jobs >= 0)),
    CONSTRAINT usage_period_free_outlines_check CHECK ((free_outlines >= 0)),
    CONSTRAINT usage_period_proofreading_checks_used_check CHECK ((proofreading_checks_used >= 0)),
    CONSTRAINT usage_period_unpaid_words_check CHECK ((unpaid_words >= 0))
);
CREATE TABLE public.wallet (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    balance integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT wallet_balance_check CHECK ((balance >= 0))
);
ALTER TABLE public.wallet ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.wallet_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO public.account OVERRIDING SYSTEM VALUE VALUES
	(1, 'ada', 'ada@example.com', NULL, '', '', false, NULL, NULL, false, false, NULL, NULL, NULL, '2026-11-28 15:12:34.112031+00', DEFAULT, DEFAULT, NULL, '1970-01-01 00:00:00+00', false, false);
INSERT INTO public.account_slot VALUES
	(1, 0);
INSERT INTO public.addon OVERRIDING SYSTEM VALUE VALUES
	(1, 'automated-production', 'Automated production', 'From the idea to the files in one call: outline, chapters, cover, exports.', 19.00, 4.99, true, 0),
	(2, 'childrens-book', 'Children''s books', 'Picture books in spreads: short text and one illustration each.', 14.00, 3.99, true, 1);
INSERT INTO public.book OVERRIDING SYSTEM VALUE VALUES
	(1, 1, 'The Salt Road', '', '', '', '', '', '', 2, 200, '6x9', 'en', 'generating', '{}', NULL, '2026-11-28 15:12:34.112031+00', '2026-11-28 15:12:34.112031+00', 0, 'prose', NULL, '', '[]', NULL, '', '{}', '[]', NULL, '{}');
INSERT INTO public.chapter OVERRIDING SYSTEM VALUE VALUES
	(1, 1, 1, 'Chapter 1', 'What happens in 1', 'The road was white.', 4, 100, 'completed', 0, '[]', '2026-11-28 15:12:34.112031+00', '2026-11-28 15:12:34.112031+00', NULL, '', NULL, '{}'),
	(2, 1, 2, 'Chapter 2', 'What happens in 2', '', 0, 100, 'pending', 0, '[]', '2026-11-28 15:12:34.112031+00', '2026-11-28 15:12:34.112031+00', NULL, '', NULL, '{}');
INSERT INTO public.chapter_revision OVERRIDING SYSTEM VALUE VALUES
	(1, 1, 'editor', 'The road was grey.', 4, '2026-11-28 15:12:34.112031+00', NULL, NULL, '', NULL);
INSERT INTO public.credit_package OVERRIDING SYSTEM VALUE VALUES
	(1, 'single', 'Single book', 1, 999, 50000, false, true, 0),
	(2, 'five-pack', 'Five books', 5, 3999, 50000, true, true, 1),
	(3, 'twenty-pack', 'Twenty books', 20, 12999, 50000, false, true, 2);
INSERT INTO public.past_usage_end VALUES
	(0);
INSERT INTO public.plan OVERRIDING SYSTEM VALUE VALUES
	(1, 'free', 'Free', 'Try it: one book a month.', 0.00, 0.00, true, 0, '{"watermark": true, "max_stored_mb": 50, "chapter_images": false, "export_formats": ["pdf"], "books_per_month": 1, "ai_edits_per_month": 5, "ai_images_per_month": 4, "max_word_count_per_book": 20000, "proofreading_checks_per_month": 1}'),
	(2, 'starter', 'Starter', 'For a first series.', 19.00, 190.00, true, 1, '{"watermark": false, "max_stored_mb": 500, "chapter_images": true, "export_formats": ["pdf", "docx", "epub"], "books_per_month": 5, "ai_edits_per_month": 100, "ai_images_per_month": 40, "max_word_count_per_book": 60000, "proofreading_checks_per_month": 10}'),
	(3, 'pro', 'Pro', 'For people who publish every week.', 49.00, 490.00, true, 2, '{"watermark": false, "max_stored_mb": 2000, "chapter_images": true, "export_formats": ["pdf", "docx", "epub"], "books_per_month": 20, "ai_edits_per_month": 1000, "ai_images_per_month": 200, "max_word_count_per_book": 150000, "proofreading_checks_per_month": 50}'),
	(4, 'self-hosted', 'Self-hosted', 'Everything, on your own machine.', 0.00, 0.00, false, 3, '{"watermark": false, "max_stored_mb": -1, "chapter_images": true, "export_formats": ["pdf", "docx", "epub"], "books_per_month": -1, "ai_edits_per_month": -1, "ai_images_per_month": -1, "max_word_count_per_book": 500000, "proofreading_checks_per_month": -1}');
INSERT INTO public.reconciliation VALUES
	('2026-11-28 15:12:33.999283+00');
INSERT INTO public.run VALUES
	('0b8c1f5e-0000-4000-8000-000000000001', 1, 1, 'paused', 'full', 2, 1, 0, 0, NULL, NULL, 0, 0, 0, NULL, 0, 1, NULL, NULL, '2026-11-28 15:12:34.112031+00', '2026-11-28 15:12:34.112031+00', NULL, 0, 'chapters', '', NULL, 0, NULL, 0, '{}', true);
INSERT INTO public.schema_migration VALUES
	(1, '0001_accounts.sql', '954b0f6685e4c0a52fd8a6259bdcba18f8764ebea44360aa10ab0d5cbc8d4400', '2026-11-28 15:12:33.680225+00'),
	(2, '0002_books.sql', 'ea8a62dff95fb0724e36bb3b9e08f387414297f1697f0bce5e0f33a5f14d14d1', '2026-11-28 15:12:33.699499+00'),
	(3, '0003_runs.sql', '38f6ac4c1dbadb0a4c15c4436abf4d0b08058fa49790cfda53709089a35e1026', '2026-11-28 15:12:33.721755+00'),
	(4, '0004_billing.sql', 'db4fe3fabfe747aebe6ef79adc1d2f89332bd4a4b9bcf4835873e70263efa30c', '2026-11-28 15:12:33.738949+00'),
	(5, '0005_limits.sql', '6c0089de0ed4f04dd1191e96ae85a93e08339e73b528be567f39d43e929fdf23', '2026-11-28 15:12:33.830371+00'),
	(6, '0006_exports.sql', 'fdc15ff8fa16a7b48f1c1899b3bbba17f605fe48e6dfa15360ecb1ef7f6972c5', '2026-11-28 15:12:33.836203+00'),
	(7, '0007_slots.sql', '6b593b3cf164aa409be94b701bcc3cb9b41ef89c3288b2019da0f0a4e985e1ba', '2026-11-28 15:12:33.845937+00'),
	(8, '0008_money.sql', '170ca2260a74f517cc61495aea810fafd0099dab619f9494f79dcc97e288fd14', '2026-11-28 15:12:33.849707+00'),
	(9, '0009_proofreading.sql', '84c87391ab01ccc210fae0317c3d2a46128d8033bd1d36f7dffd9a3edb7e47bb', '2026-11-28 15:12:33.85835+00'),
	(10, '0010_identity.sql', 'acf9a251f8b4ec8364dd98d839fbcad341e5403fdf205f49ccac4fa18e84b2ec', '2026-11-28 15:12:33.877769+00'),
	(11, '0011_crashes.sql', '531ecd985868ca15224d8317f8478792c3d48880ad155a96597951ad1b2ecd95', '2026-11-28 15:12:33.900774+00'),
	(12, '0012_ledger.sql', 'a384ea7d9364aa96a4b0651dee3ba597ff4b4054e3be734ed285a3021de948ba', '2026-11-28 15:12:33.902238+00'),
	(13, '0013_words.sql', '61cf7d5fa3cd39514512c9e3d1d3fb7c5657f0476ae04384da956f290e2e4bd8', '2026-11-28 15:12:33.90429+00'),
	(14, '0014_spending.sql', '2ceffe88236c50ae22a70c64899a77eaccba52dd4ed2e4712c3f50aa11f4f8f7', '2026-11-28 15:12:33.906048+00'),
	(15, '0015_pictures.sql', '875a88dc8e73c0740fdef8c6775d83b98b5ae2264319f59f553bf900d335a4ae', '2026-11-28 15:12:33.909251+00'),
	(16, '0016_notices.sql', 'e2cb4392e38c33af77ecd95b0f42f1abb712cf06e2ad16f9280e01136d8d979b', '2026-11-28 15:12:33.935532+00'),
	(17, '0017_storage.sql', 'a34e2056c07554a37c1d434d1fe7e5535c595a062bf96b99de612a628baee39f', '2026-11-28 15:12:33.936927+00'),
	(18, '0018_addon_uses.sql', '03f2c8025d4c022a9b0c9e2357afbadd790f49cd5ae3f696c330bfbca6adceb7', '2026-11-28 15:12:33.938842+00'),
	(19, '0019_childrens.sql', '6a560ddef422b84ce74d68f983e8ae51cd098586ea9d1eb37eafa82cb43a4821', '2026-11-28 15:12:33.94128+00'),
	(20, '0020_production.sql', '42d244bba46aba05d2cc96ad7d5eb2656bb56e5f5dbd7875adbaf659bbbd6eb6', '2026-11-28 15:12:33.947668+00'),
	(21, '0021_plans.sql', '5adc3ee531ab7982aef5f13c3d0cdeb07c49c7f86f9371aae1af3d92ed3bbad3', '2026-11-28 15:12:33.95222+00'),
	(22, '0022_places.sql', 'f54c9346084e2d1d4aaa59de6aea9c11ddc7ad4bd5b40233c4d8c58f6baf0bfd', '2026-11-28 15:12:33.953251+00'),
	(23, '0023_reservations.sql', 'b627ffa2e536b884629639df36150c069adc7e2cd1e4c3c103d6900218771170', '2026-11-28 15:12:33.954948+00'),
	(24, '0024_drawn_covers.sql', '97c7d5b69bb86daf1d093de9596c0918a2ff9b9d90faa1128820c2898a4e6978', '2026-11-28 15:12:33.95854+00'),
	(25, '0025_recent_books.sql', 'e3f646fc3e78edaa49dfd89cb7fae7db05332df22c6bab20961adecfe1cc07bb', '2026-11-28 15:12:33.959257+00'),
	(26, '0026_day_costs.sql', '3a5cd3f7283d6dd01ca0f5927e6994ca8485fcf71caaac54c4954c7bf00ecf8b', '2026-11-28 15:12:33.96221+00'),
	(27, '0027_plain_revisions.sql', '797fcfcb1b6cb8c07b80d1ea629b76837f78b293a5d75f96eb76047f150dee0e', '2026-11-28 15:12:33.968208+00'),
	(28, '0028_words_of_a_hold.sql', '13f8969d1dc4d98a487fcd2cc074c190564e1311ae50da4e3ce88d04650bdb2d', '2026-11-28 15:12:33.969495+00'),
	(29, '0029_addon_purchases.sql', '942d6981fbe237b9bde1fcaba1d9a0768a2b4ba51add3c97317bcf9bc17b2869', '2026-11-28 15:12:33.970549+00'),
	(30, '0030_audit_actions.sql', 'f74bb642bf848bdb36e2968d41b41d8a09e4c208471bfa1e957fcb0120a99841', '2026-11-28 15:12:33.976618+00'),
	(31, '0031_edits_and_deletions.sql', '47d863426bdd6bb0b56f1342a654b74ccbcefa220d5a3c5e839eaaa777da18a6', '2026-11-28 15:12:33.979257+00'),
	(32, '0032_writers.sql', '4111ff7d62089b37edd59788f700d84b3ce9b070fe01367bd9ba30f0e0c2479d', '2026-11-28 15:12:33.984536+00'),
	(33, '0033_written_at.sql', '43a1656b3cb6c298c9dabbd56f1272edc57f89687e3e77b196005992a31345ff', '2026-11-28 15:12:33.989403+00'),
	(34, '0034_blurbs.sql', '053ba1889afebcf8e32620ca6b1e1f5f1120f0ebcaa4804fd61209a9ffb5c3eb', '2026-11-28 15:12:33.992487+00'),
	(35, '0035_reversals_and_nightly_reconcile.sql', '676d3347ef942d18e9083baa679eba9399ed401e72c2c0bb8d5bbdad1d763b8b', '2026-11-28 15:12:33.999283+00'),
	(36, '0036_retention_indexes.sql', 'dfa2902c2d5362fb4b8b3a09e2c21bca07dead5a21c43aeebb0ae0ddde63dd31', '2026-11-28 15:12:34.012437+00'),
	(37, '0037_editors_reading.sql', 'd5146806fe017ad4a91797f02ca59a6cafc90ca3e1c9ec9fb0b62852ad6b9ee5', '2026-11-28 15:12:34.01277+00'),
	(38, '0038_origin.sql', '604c704bfa9d21efd6a7fd3bc2c8d1b38e2ffd09b3cdd24cfe20fa2098e9b558', '2026-11-28 15:12:34.017049+00'),
	(39, '0039_authors_bible.sql', '5fbcbe86a60a9109759cc784048877513a20e764c7fa32673845db80d022d645', '2026-11-28 15:12:34.022249+00'),
	(40, '0040_address_changes.sql', '78834dff5d27d2b72c526fe96458ed119610566efda8a61ccea5dee27b66ff7c', '2026-11-28 15:12:34.023935+00'),
	(41, '0041_what_is_paid_for.sql', '0c928614d504fc32835f76d17ab84de11f76c9f2c1f85594c1e82037af70100c', '2026-11-28 15:12:34.029402+00'),
	(42, '0042_chapter_plans.sql', '6003084390facb39cf92b223f1a9016c3e37e4e34117d9ed2ce6b502a890fd25', '2026-11-28 15:12:34.033357+00'),
	(43, '0043_signing_keys.sql', 'f440aec7f3fcb3819d035d654363baf4d8bad6ce1c2b3a5541e51bddf23522db', '2026-11-28 15:12:34.035538+00'),
	(44, '0044_backups.sql', '9321f927ad7235b8cddcd3c08a27e89b445e68d2bd8f7489229786533c918f1a', '2026-11-28 15:12:34.045751+00'),
	(45, '0045_facts.sql', 'a7990375439c792f29b847b71f37c9ae2227e3bc23980274a9229ba76b1e5890', '2026-11-28 15:12:34.053378+00'),
	(46, '0046_idempotency.sql', 'bacde4b276664fc1afb8c2bd0b26b9ba5eb425babf19a0d7f88f6e9076c9e7ec', '2026-11-28 15:12:34.060729+00'),
	(47, '0047_passages.sql', '23a96f407b4ab99179545ce7a9130f7bb69bb3433b64e710d27c3940f58df981', '2026-11-28 15:12:34.067515+00'),
	(48, '0048_scheduled_changes.sql', '791444b15606b8b6ffacf4ea7071778e044754382d13193982eeb42656a1ed99', '2026-11-28 15:12:34.06907+00'),
	(49, '0049_bible_changes.sql', '71b9845a3dcae2c30419449a160c16b8c65833728bdfff71666aee4844898f95', '2026-11-28 15:12:34.07438+00'),
	(50, '0050_roles.sql', '3a59f2ea2e23db292e8bafc2807a17ef64e78bed0fe1da694d052687f9788928', '2026-11-28 15:12:34.075897+00'),
	(51, '0051_cover_ideas.sql', 'f3c945fc91d61ff052ae3fe580f847b6944b56bdb834dd5c2e45c059204e587f', '2026-11-28 15:12:34.081819+00'),
	(52, '0052_stored_files.sql', '664a6bb75fe575a9d7b1089def3c604796abdec1ff99b2ba4496a6fef2481e4b', '2026-11-28 15:12:34.083003+00'),
	(54, '0054_export_settings.sql', 'eaec844eab7bfd2d4ad28cc7ac1e0f2c9ff97c31c6016fe16313dd67989c2102', '2026-11-28 15:12:34.095967+00'),
	(55, '0055_incomplete_backups.sql', 'bf205d7fffc022ae3cf2f6df2d815c7273acc5d21efbd60ad3b6974a4fa848c3', '2026-11-29 04:58:27.771811+00'),
	(56, '0056_past_usage.sql', 'b00430c3559a9d3811d9bfbf92fab7f31e2b7c46933fbeaa4cea9f68fd07daa2', '2026-11-29 04:58:27.776893+00'),
	(57, '0057_lost_calls.sql', 'e2ab0c0580d45834743ac8a6128f7be182ef3bae97899192fdf765c19dbf8b12', '2026-11-29 04:58:27.792902+00'),
	(58, '0058_production_without_cover.sql', '019c1fbabf4bfcf0ee300cf0f6a748db6418478824d6382a38bdb3a3ba396d8e', '2026-11-30 02:09:29.721946+00');
INSERT INTO public.subscription OVERRIDING SYSTEM VALUE VALUES
	(1, 1, 1, 'active', NULL, '2026-11-28 15:12:34.112031+00', NULL, NULL, false, NULL, '2026-11-28 15:12:34.112031+00', '2026-11-28 15:12:34.112031+00', NULL, NULL);
SELECT pg_catalog.setval('public.account_addon_id_seq', 1, false);
SELECT pg_catalog.setval('public.account_id_seq', 1, true);
SELECT pg_catalog.setval('public.addon_id_seq', 2, true);
SELECT pg_catalog.setval('public.audit_id_seq', 1, false);
SELECT pg_catalog.setval('public.backup_id_seq', 1, false);
SELECT pg_catalog.setval('public.book_id_seq', 1, true);
SELECT pg_catalog.setval('public.chapter_id_seq', 2, true);
SELECT pg_catalog.setval('public.chapter_revision_id_seq', 1, true);
SELECT pg_catalog.setval('public.checkout_id_seq', 1, false);
SELECT pg_catalog.setval('public.cover_id_seq', 1, false);
SELECT pg_catalog.setval('public.credit_lot_id_seq', 1, false);
SELECT pg_catalog.setval('public.credit_package_id_seq', 3, true);
SELECT pg_catalog.setval('public.credit_transaction_id_seq', 1, false);
SELECT pg_catalog.setval('public.fact_id_seq', 1, false);
SELECT pg_catalog.setval('public.hold_id_seq', 1, false);
SELECT pg_catalog.setval('public.illustration_id_seq', 1, false);
SELECT pg_catalog.setval('public.link_id_seq', 1, false);
SELECT pg_catalog.setval('public.mail_id_seq', 1, false);
SELECT pg_catalog.setval('public.model_call_id_seq', 1, false);
SELECT pg_catalog.setval('public.plan_id_seq', 4, true);
SELECT pg_catalog.setval('public.report_id_seq', 1, false);
SELECT pg_catalog.setval('public.run_queue', 1, true);
SELECT pg_catalog.setval('public.signing_key_id_seq', 1, false);
SELECT pg_catalog.setval('public.stored_file_id_seq', 1, false);
SELECT pg_catalog.setval('public.subscription_id_seq', 1, true);
SELECT pg_catalog.setval('public.suggestion_id_seq', 1, false);
SELECT pg_catalog.setval('public.wallet_id_seq', 1, false);
ALTER TABLE ONLY public.account_addon
    ADD CONSTRAINT account_addon_account_id_addon_id_billing_type_key UNIQUE (account_id, addon_id, billing_type);
ALTER TABLE ONLY public.account_addon
    ADD CONSTRAINT account_addon_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.account_addon
    ADD CONSTRAINT account_addon_processor_id_key UNIQUE (processor_id);
ALTER TABLE ONLY public.account
    ADD CONSTRAINT account_google_subject_key UNIQUE (google_subject);
ALTER TABLE ONLY public.account_origin
    ADD CONSTRAINT account_origin_pkey PRIMARY KEY (account_id, kind, value);
ALTER TABLE ONLY public.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.account_slot
    ADD CONSTRAINT account_slot_pkey PRIMARY KEY (account_id);
ALTER TABLE ONLY public.addon
    ADD CONSTRAINT addon_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.addon
    ADD CONSTRAINT addon_slug_key UNIQUE (slug);
ALTER TABLE ONLY public.addon_use
    ADD CONSTRAINT addon_use_checkout_id_key UNIQUE (checkout_id);
ALTER TABLE ONLY public.addon_use
    ADD CONSTRAINT addon_use_pkey PRIMARY KEY (run_id, account_addon_id);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.backup
    ADD CONSTRAINT backup_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ban
    ADD CONSTRAINT ban_pkey PRIMARY KEY (kind, value);
ALTER TABLE ONLY public.blurb_draft
    ADD CONSTRAINT blurb_draft_pkey PRIMARY KEY (book_id);
ALTER TABLE ONLY public.book
    ADD CONSTRAINT book_character_sheet_key_key UNIQUE (character_sheet_key);
ALTER TABLE ONLY public.book_job
    ADD CONSTRAINT book_job_pkey PRIMARY KEY (book_id);
ALTER TABLE ONLY public.book
    ADD CONSTRAINT book_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.caller_bucket
    ADD CONSTRAINT caller_bucket_pkey PRIMARY KEY (name, caller);
ALTER TABLE ONLY public.chapter
    ADD CONSTRAINT chapter_book_id_chapter_number_key UNIQUE (book_id, chapter_number) DEFERRABLE;
ALTER TABLE ONLY public.chapter
    ADD CONSTRAINT chapter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chapter_revision
    ADD CONSTRAINT chapter_revision_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.checkout
    ADD CONSTRAINT checkout_key_key UNIQUE (key);
ALTER TABLE ONLY public.checkout
    ADD CONSTRAINT checkout_payment_intent_key UNIQUE (payment_intent);
ALTER TABLE ONLY public.checkout
    ADD CONSTRAINT checkout_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.checkout
    ADD CONSTRAINT checkout_session_id_key UNIQUE (session_id);
ALTER TABLE ONLY public.consumption
    ADD CONSTRAINT consumption_pkey PRIMARY KEY (run_id);
ALTER TABLE ONLY public.cost_reservation
    ADD CONSTRAINT cost_reservation_pkey PRIMARY KEY (call_id);
ALTER TABLE ONLY public.cover
    ADD CONSTRAINT cover_image_key_key UNIQUE (image_key);
ALTER TABLE ONLY public.cover
    ADD CONSTRAINT cover_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.cover
    ADD CONSTRAINT cover_thumbnail_key_key UNIQUE (thumbnail_key);
ALTER TABLE ONLY public.credit_lot
    ADD CONSTRAINT credit_lot_checkout_id_key UNIQUE (checkout_id);
ALTER TABLE ONLY public.credit_lot
    ADD CONSTRAINT credit_lot_owner UNIQUE (id, account_id);
ALTER TABLE ONLY public.credit_lot
    ADD CONSTRAINT credit_lot_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.credit_package
    ADD CONSTRAINT credit_package_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.credit_package
    ADD CONSTRAINT credit_package_slug_key UNIQUE (slug);
ALTER TABLE ONLY public.credit_transaction
    ADD CONSTRAINT credit_transaction_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.credit_transaction
    ADD CONSTRAINT credit_transaction_run_id_key UNIQUE (run_id);
ALTER TABLE ONLY public.day_cost
    ADD CONSTRAINT day_cost_pkey PRIMARY KEY (day);
ALTER TABLE ONLY public.digest
    ADD CONSTRAINT digest_pkey PRIMARY KEY (chapter_id, content_hash);
ALTER TABLE ONLY public.dismissal
    ADD CONSTRAINT dismissal_pkey PRIMARY KEY (book_id, fingerprint);
ALTER TABLE ONLY public.export_count
    ADD CONSTRAINT export_count_pkey PRIMARY KEY (account_id, kind);
ALTER TABLE ONLY public.export_file
    ADD CONSTRAINT export_file_pkey PRIMARY KEY (book_id, digest);
ALTER TABLE ONLY public.fact
    ADD CONSTRAINT fact_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.former_address
    ADD CONSTRAINT former_address_pkey PRIMARY KEY (email_key);
ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_book_id_key UNIQUE (book_id);
ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_run_id_key UNIQUE (run_id);
ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_pkey PRIMARY KEY (account_id, key);
ALTER TABLE ONLY public.illustration
    ADD CONSTRAINT illustration_image_key_key UNIQUE (image_key);
ALTER TABLE ONLY public.illustration
    ADD CONSTRAINT illustration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.image_hold
    ADD CONSTRAINT image_hold_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.link
    ADD CONSTRAINT link_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.link
    ADD CONSTRAINT link_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.mail
    ADD CONSTRAINT mail_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.media
    ADD CONSTRAINT media_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.model_call
    ADD CONSTRAINT model_call_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.past_usage
    ADD CONSTRAINT past_usage_pkey PRIMARY KEY (model);
ALTER TABLE ONLY public.payment_customer
    ADD CONSTRAINT payment_customer_customer_id_key UNIQUE (customer_id);
ALTER TABLE ONLY public.payment_customer
    ADD CONSTRAINT payment_customer_pkey PRIMARY KEY (account_id);
ALTER TABLE ONLY public.payment_event
    ADD CONSTRAINT payment_event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.payment_object
    ADD CONSTRAINT payment_object_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.plan
    ADD CONSTRAINT plan_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.plan
    ADD CONSTRAINT plan_slug_key UNIQUE (slug);
ALTER TABLE ONLY public.process
    ADD CONSTRAINT process_pkey PRIMARY KEY (boot_id);
ALTER TABLE ONLY public.rate_bucket
    ADD CONSTRAINT rate_bucket_pkey PRIMARY KEY (account_id, name);
ALTER TABLE ONLY public.registration
    ADD CONSTRAINT registration_pkey PRIMARY KEY (day, network);
ALTER TABLE public.report
    ADD CONSTRAINT report_kind_check CHECK ((kind = ANY (ARRAY['proofreading'::text, 'review'::text, 'passage'::text]))) NOT VALID;
ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_once_a_run UNIQUE (run_id, kind);
ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_pkey PRIMARY KEY (id);
ALTER TABLE public.run
    ADD CONSTRAINT run_phase_check CHECK ((phase = ANY (ARRAY['outline'::text, 'chapters'::text, 'review'::text, 'proofreading'::text, 'corrections'::text, 'blurb'::text, 'cover'::text, 'files'::text]))) NOT VALID;
ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.server_secret
    ADD CONSTRAINT server_secret_pkey PRIMARY KEY (singleton);
ALTER TABLE ONLY public.signing_key
    ADD CONSTRAINT signing_key_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.step
    ADD CONSTRAINT step_pkey PRIMARY KEY (book_id, key);
ALTER TABLE ONLY public.stored_file
    ADD CONSTRAINT stored_file_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.stored_file
    ADD CONSTRAINT stored_file_place_name_key UNIQUE (place, name);
ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_processor_id_key UNIQUE (processor_id);
ALTER TABLE ONLY public.suggestion
    ADD CONSTRAINT suggestion_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.usage_period
    ADD CONSTRAINT usage_period_pkey PRIMARY KEY (account_id, period_start);
ALTER TABLE ONLY public.wallet
    ADD CONSTRAINT wallet_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.wallet
    ADD CONSTRAINT wallet_pkey PRIMARY KEY (id);
CREATE INDEX account_blocked ON public.account USING btree (blocked_at) WHERE (blocked_at IS NOT NULL);
CREATE UNIQUE INDEX account_email ON public.account USING btree (email_key);
CREATE INDEX account_fingerprint ON public.account USING btree (fingerprint) WHERE (fingerprint IS NOT NULL);
CREATE UNIQUE INDEX account_username ON public.account USING btree (username_key);
CREATE INDEX addon_use_kept ON public.addon_use USING btree (book_id) WHERE (kept_until IS NOT NULL);
CREATE INDEX addon_use_owner ON public.addon_use USING btree (account_addon_id, used_at);
CREATE INDEX audit_account ON public.audit USING btree (account_id, id DESC);
CREATE INDEX audit_action ON public.audit USING btree (account_id, action, created_at);
CREATE INDEX audit_created ON public.audit USING btree (created_at);
CREATE INDEX backup_made_at ON public.backup USING btree (made_at);
CREATE INDEX blurb_draft_due ON public.blurb_draft USING btree (due_at);
CREATE INDEX book_of_account ON public.book USING btree (account_id);
CREATE INDEX caller_bucket_full ON public.caller_bucket USING btree (full_at);
CREATE INDEX chapter_revision_newest ON public.chapter_revision USING btree (chapter_id, id DESC);
CREATE INDEX checkout_account ON public.checkout USING btree (account_id, kind, status);
CREATE INDEX checkout_unpaid ON public.checkout USING btree (updated_at) WHERE (status = ANY (ARRAY['open'::text, 'expired'::text, 'failed'::text]));
CREATE INDEX checkout_waiting ON public.checkout USING btree (public.folded_address(buyer_email)) WHERE ((account_id IS NULL) AND (buyer_email IS NOT NULL));
CREATE INDEX consumption_account ON public.consumption USING btree (account_id, created_at);
CREATE INDEX cover_of_book ON public.cover USING btree (book_id, id);
CREATE UNIQUE INDEX cover_selected ON public.cover USING btree (book_id) WHERE is_selected;
CREATE INDEX credit_lot_account ON public.credit_lot USING btree (account_id, id);
CREATE INDEX credit_transaction_newest ON public.credit_transaction USING btree (account_id, id DESC) INCLUDE (amount);
CREATE UNIQUE INDEX credit_transaction_one_grant_per_lot ON public.credit_transaction USING btree (lot_id) WHERE (kind = ANY (ARRAY['purchase'::text, 'bonus'::text]));
CREATE UNIQUE INDEX export_file_file ON public.export_file USING btree (file_id) WHERE (file_id IS NOT NULL);
CREATE INDEX export_file_oldest ON public.export_file USING btree (created_at);
CREATE INDEX fact_of_chapter ON public.fact USING btree (chapter_id);
CREATE INDEX former_address_account ON public.former_address USING btree (account_id);
CREATE INDEX hold_account ON public.hold USING btree (account_id, period_start);
CREATE INDEX hold_lot ON public.hold USING btree (lot_id) WHERE (lot_id IS NOT NULL);
CREATE INDEX idempotency_key_started ON public.idempotency_key USING btree (started_at);
CREATE INDEX illustration_of_chapter ON public.illustration USING btree (chapter_id, "position", id);
CREATE INDEX image_hold_of_account ON public.image_hold USING btree (account_id, period_start);
CREATE INDEX link_account ON public.link USING btree (account_id, purpose);
CREATE INDEX link_expiry ON public.link USING btree (expires_at);
CREATE INDEX link_mailbox ON public.link USING btree (public.folded_address(email), purpose);
CREATE INDEX mail_due ON public.mail USING btree (due_at);
CREATE UNIQUE INDEX media_file ON public.media USING btree (file_id) WHERE (file_id IS NOT NULL);
CREATE INDEX media_of_book ON public.media USING btree (book_id);
CREATE INDEX model_call_account_day ON public.model_call USING btree (account_id, created_at);
CREATE INDEX model_call_book ON public.model_call USING btree (book_id) WHERE (book_id IS NOT NULL);
CREATE UNIQUE INDEX model_call_once ON public.model_call USING btree (call_id);
CREATE INDEX model_call_run ON public.model_call USING btree (run_id) WHERE (run_id IS NOT NULL);
CREATE INDEX model_call_uncounted ON public.model_call USING btree (created_at) WHERE ((cost_micros > 0) AND (NOT counted));
CREATE INDEX payment_event_applied ON public.payment_event USING btree (received_at) WHERE (applied_at IS NOT NULL);
CREATE INDEX payment_event_waiting ON public.payment_event USING btree (created_at, id) WHERE (applied_at IS NULL);
CREATE UNIQUE INDEX reconciliation_only ON public.reconciliation USING btree ((true));
CREATE INDEX report_of_account ON public.report USING btree (account_id, id DESC);
CREATE INDEX report_of_book ON public.report USING btree (book_id);
CREATE UNIQUE INDEX report_one_active_per_book ON public.report USING btree (book_id) WHERE (status = ANY (ARRAY['pending'::text, 'running'::text]));
CREATE INDEX run_active_of_account ON public.run USING btree (account_id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text]));
CREATE INDEX run_failed ON public.run USING btree (finished_at) WHERE (status = 'error'::text);
CREATE INDEX run_fifo ON public.run USING btree (account_id, queue_seq) WHERE (status = 'queued'::text);
CREATE INDEX run_newest_of_book ON public.run USING btree (book_id, queue_seq DESC);
CREATE UNIQUE INDEX run_one_active_per_book ON public.run USING btree (book_id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text]));
CREATE UNIQUE INDEX run_one_running_per_account ON public.run USING btree (account_id) WHERE (status = 'running'::text);
CREATE INDEX step_run ON public.step USING btree (run_id) WHERE (run_id IS NOT NULL);
CREATE INDEX stored_file_to_sweep ON public.stored_file USING btree (id) WHERE (state <> 'used'::text);
CREATE INDEX suggestion_of_chapter ON public.suggestion USING btree (chapter_id);
CREATE INDEX suggestion_of_report ON public.suggestion USING btree (report_id);
CREATE TRIGGER account_address_is_not_reserved AFTER INSERT OR UPDATE OF email ON public.account FOR EACH ROW EXECUTE FUNCTION public.refuse_reserved_address();
CREATE TRIGGER account_has_a_slot AFTER INSERT ON public.account FOR EACH ROW EXECUTE FUNCTION public.give_slot_to_new_account();
CREATE TRIGGER account_starts_on_the_free_plan AFTER INSERT ON public.account FOR EACH ROW EXECUTE FUNCTION public.subscribe_new_account();
CREATE TRIGGER cover_takes_its_media AFTER DELETE ON public.cover FOR EACH ROW EXECUTE FUNCTION public.forget_media();
CREATE TRIGGER credit_transaction_is_append_only BEFORE DELETE OR UPDATE ON public.credit_transaction FOR EACH ROW EXECUTE FUNCTION public.refuse_change_of_ledger();
CREATE TRIGGER credit_transaction_is_never_emptied BEFORE TRUNCATE ON public.credit_transaction FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change_of_ledger();
CREATE TRIGGER export_file_leaves_file AFTER DELETE ON public.export_file FOR EACH ROW WHEN ((old.file_id IS NOT NULL)) EXECUTE FUNCTION public.leave_file();
CREATE TRIGGER export_file_leaves_former_file AFTER UPDATE OF file_id ON public.export_file FOR EACH ROW WHEN ((old.file_id IS NOT NULL)) EXECUTE FUNCTION public.leave_file();
CREATE TRIGGER export_file_takes_file AFTER INSERT ON public.export_file FOR EACH ROW WHEN ((new.file_id IS NOT NULL)) EXECUTE FUNCTION public.take_file();
CREATE TRIGGER export_file_takes_other_file AFTER UPDATE OF file_id ON public.export_file FOR EACH ROW WHEN ((new.file_id IS NOT NULL)) EXECUTE FUNCTION public.take_file();
CREATE TRIGGER forget_old_revisions AFTER INSERT ON public.chapter_revision FOR EACH ROW EXECUTE FUNCTION public.forget_old_revisions();
CREATE TRIGGER illustration_takes_its_media AFTER DELETE ON public.illustration FOR EACH ROW EXECUTE FUNCTION public.forget_media();
CREATE CONSTRAINT TRIGGER ledger_equals_wallet AFTER INSERT ON public.credit_transaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.require_equal_balance();
CREATE CONSTRAINT TRIGGER lots_equal_ledger AFTER INSERT OR DELETE OR UPDATE ON public.credit_lot DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.require_equal_balance();
CREATE TRIGGER media_leaves_file AFTER DELETE ON public.media FOR EACH ROW WHEN ((old.file_id IS NOT NULL)) EXECUTE FUNCTION public.leave_file();
CREATE TRIGGER media_leaves_former_file AFTER UPDATE OF file_id ON public.media FOR EACH ROW WHEN ((old.file_id IS NOT NULL)) EXECUTE FUNCTION public.leave_file();
CREATE TRIGGER media_takes_file AFTER INSERT ON public.media FOR EACH ROW WHEN ((new.file_id IS NOT NULL)) EXECUTE FUNCTION public.take_file();
CREATE TRIGGER media_takes_other_file AFTER UPDATE OF file_id ON public.media FOR EACH ROW WHEN ((new.file_id IS NOT NULL)) EXECUTE FUNCTION public.take_file();
CREATE TRIGGER model_call_settles BEFORE INSERT ON public.model_call FOR EACH ROW EXECUTE FUNCTION public.settle_reservation();
CREATE CONSTRAINT TRIGGER wallet_equals_ledger AFTER INSERT OR DELETE OR UPDATE ON public.wallet DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.require_equal_balance();
ALTER TABLE ONLY public.account_addon
    ADD CONSTRAINT account_addon_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.account_addon
    ADD CONSTRAINT account_addon_addon_id_fkey FOREIGN KEY (addon_id) REFERENCES public.addon(id);
ALTER TABLE ONLY public.account_origin
    ADD CONSTRAINT account_origin_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.account_slot
    ADD CONSTRAINT account_slot_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.addon_use
    ADD CONSTRAINT addon_use_account_addon_id_fkey FOREIGN KEY (account_addon_id) REFERENCES public.account_addon(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.addon_use
    ADD CONSTRAINT addon_use_checkout_id_fkey FOREIGN KEY (checkout_id) REFERENCES public.checkout(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.ban
    ADD CONSTRAINT ban_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.blurb_draft
    ADD CONSTRAINT blurb_draft_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.book
    ADD CONSTRAINT book_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.book
    ADD CONSTRAINT book_character_sheet_key_fkey FOREIGN KEY (character_sheet_key) REFERENCES public.media(key) ON DELETE SET NULL;
ALTER TABLE ONLY public.book_job
    ADD CONSTRAINT book_job_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chapter
    ADD CONSTRAINT chapter_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chapter_revision
    ADD CONSTRAINT chapter_revision_chapter_id_fkey FOREIGN KEY (chapter_id) REFERENCES public.chapter(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.checkout
    ADD CONSTRAINT checkout_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.consumption
    ADD CONSTRAINT consumption_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.consumption
    ADD CONSTRAINT consumption_lot_id_fkey FOREIGN KEY (lot_id) REFERENCES public.credit_lot(id);
ALTER TABLE ONLY public.consumption
    ADD CONSTRAINT consumption_own_lot FOREIGN KEY (lot_id, account_id) REFERENCES public.credit_lot(id, account_id);
ALTER TABLE ONLY public.cover
    ADD CONSTRAINT cover_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.cover
    ADD CONSTRAINT cover_image_key_fkey FOREIGN KEY (image_key) REFERENCES public.media(key) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cover
    ADD CONSTRAINT cover_thumbnail_key_fkey FOREIGN KEY (thumbnail_key) REFERENCES public.media(key) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.credit_lot
    ADD CONSTRAINT credit_lot_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.wallet(account_id);
ALTER TABLE ONLY public.credit_lot
    ADD CONSTRAINT credit_lot_checkout_id_fkey FOREIGN KEY (checkout_id) REFERENCES public.checkout(id);
ALTER TABLE ONLY public.credit_transaction
    ADD CONSTRAINT credit_transaction_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.wallet(account_id);
ALTER TABLE ONLY public.credit_transaction
    ADD CONSTRAINT credit_transaction_lot_id_fkey FOREIGN KEY (lot_id) REFERENCES public.credit_lot(id);
ALTER TABLE ONLY public.credit_transaction
    ADD CONSTRAINT credit_transaction_own_lot FOREIGN KEY (lot_id, account_id) REFERENCES public.credit_lot(id, account_id);
ALTER TABLE ONLY public.digest
    ADD CONSTRAINT digest_chapter_id_fkey FOREIGN KEY (chapter_id) REFERENCES public.chapter(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.dismissal
    ADD CONSTRAINT dismissal_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.export_count
    ADD CONSTRAINT export_count_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.export_file
    ADD CONSTRAINT export_file_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.export_file
    ADD CONSTRAINT export_file_file_id_fkey FOREIGN KEY (file_id) REFERENCES public.stored_file(id);
ALTER TABLE ONLY public.fact
    ADD CONSTRAINT fact_chapter_id_fkey FOREIGN KEY (chapter_id) REFERENCES public.chapter(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.former_address
    ADD CONSTRAINT former_address_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_lot_id_fkey FOREIGN KEY (lot_id) REFERENCES public.credit_lot(id);
ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_own_lot FOREIGN KEY (lot_id, account_id) REFERENCES public.credit_lot(id, account_id);
ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.illustration
    ADD CONSTRAINT illustration_chapter_id_fkey FOREIGN KEY (chapter_id) REFERENCES public.chapter(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.illustration
    ADD CONSTRAINT illustration_image_key_fkey FOREIGN KEY (image_key) REFERENCES public.media(key) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.image_hold
    ADD CONSTRAINT image_hold_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.link
    ADD CONSTRAINT link_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.mail
    ADD CONSTRAINT mail_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.media
    ADD CONSTRAINT media_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.media
    ADD CONSTRAINT media_file_id_fkey FOREIGN KEY (file_id) REFERENCES public.stored_file(id);
ALTER TABLE ONLY public.model_call
    ADD CONSTRAINT model_call_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.model_call
    ADD CONSTRAINT model_call_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.payment_customer
    ADD CONSTRAINT payment_customer_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.rate_bucket
    ADD CONSTRAINT rate_bucket_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.step
    ADD CONSTRAINT step_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_next_plan_id_fkey FOREIGN KEY (next_plan_id) REFERENCES public.plan(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES public.plan(id);
ALTER TABLE ONLY public.suggestion
    ADD CONSTRAINT suggestion_chapter_id_fkey FOREIGN KEY (chapter_id) REFERENCES public.chapter(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.suggestion
    ADD CONSTRAINT suggestion_report_id_fkey FOREIGN KEY (report_id) REFERENCES public.report(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.usage_period
    ADD CONSTRAINT usage_period_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wallet
    ADD CONSTRAINT wallet_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);
