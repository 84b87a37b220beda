-- One rule of folding: names and addresses that fold alike are one. Google gives one mailbox under two domains.
CREATE FUNCTION folded(name text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN normalize(lower(normalize(name, NFKC)), NFKC);
CREATE FUNCTION folded_address(address text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN regexp_replace(folded(address), '@googlemail\.com$', '@gmail.com');

-- Accounts that were two under the former rule stay two: the younger gets another name, or a plus in the same mailbox.
UPDATE account SET username = username || '-' || id
 WHERE EXISTS (SELECT FROM account older WHERE folded(older.username) = folded(account.username) AND older.id < account.id);
UPDATE account SET email = replace(email, '@', '+' || id || '@')
 WHERE EXISTS (SELECT FROM account older
                WHERE folded_address(older.email) = folded_address(account.email) AND older.id < account.id);

-- `pending_email` counts once the link mailed to it is followed. Tokens of sign-ins before `tokens_valid_from` are void.
DROP INDEX account_username;
DROP INDEX account_email;
ALTER TABLE account
    ADD COLUMN username_key text NOT NULL GENERATED ALWAYS AS (folded(username)) STORED,
    ADD COLUMN email_key text NOT NULL GENERATED ALWAYS AS (folded_address(email)) STORED,
    ADD COLUMN pending_email text,
    ADD COLUMN tokens_valid_from timestamptz NOT NULL DEFAULT 'epoch';
CREATE UNIQUE INDEX account_username ON account (username_key);
CREATE UNIQUE INDEX account_email ON account (email_key);

-- An address that an account has left, kept free for as long as the mailed link can take the change back.
CREATE TABLE former_address (
    email_key      text PRIMARY KEY,
    account_id     bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    reserved_until timestamptz NOT NULL
);
CREATE INDEX former_address_account ON former_address (account_id);

CREATE FUNCTION refuse_reserved_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM former_address
                WHERE email_key = NEW.email_key AND account_id <> NEW.id AND reserved_until > now()) THEN
        RAISE EXCEPTION 'this address may still be taken back'
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'account_email';
    END IF;
    RETURN NULL;
END
$$;
-- After the row, so that it has waited for whoever was just leaving the address.
CREATE TRIGGER account_address_is_not_reserved AFTER INSERT OR UPDATE OF email ON account
    FOR EACH ROW EXECUTE FUNCTION refuse_reserved_address();

ALTER TABLE link DROP CONSTRAINT link_purpose_check;
ALTER TABLE link ADD CONSTRAINT link_purpose_check
    CHECK (purpose IN ('verify-email', 'reset-password', 'magic-login', 'undo-email'));
CREATE INDEX link_mailbox ON link (folded_address(email), purpose);

-- A letter to another address than the account's own names the account. `details`: what the letter tells of.
ALTER TABLE mail
    ADD COLUMN account_id bigint REFERENCES account ON DELETE CASCADE,
    ADD COLUMN details jsonb NOT NULL DEFAULT '{}';
ALTER TABLE mail DROP CONSTRAINT mail_purpose_check;
ALTER TABLE mail ADD CONSTRAINT mail_purpose_check
    CHECK (purpose IN ('verify-email', 'reset-password', 'magic-login', 'undo-email', 'receipt'));

-- A guest's purchase for an address that nobody has proven waits for the proof; `refunded_credits` of it were paid back.
ALTER TABLE checkout
    ADD COLUMN buyer_email text,
    ADD COLUMN refunded_credits integer NOT NULL DEFAULT 0;
CREATE INDEX checkout_waiting ON checkout (folded_address(buyer_email))
    WHERE account_id IS NULL AND buyer_email IS NOT NULL;
