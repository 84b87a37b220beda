-- Accounts, bans and mailed one-time links.
CREATE TABLE account (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    username       text NOT NULL,
    email          text NOT NULL,
    password_hash  text,
    first_name     text NOT NULL DEFAULT '',
    last_name      text NOT NULL DEFAULT '',
    email_verified boolean NOT NULL DEFAULT false,
    avatar_url     text,
    google_subject text UNIQUE,
    is_staff       boolean NOT NULL DEFAULT false,
    is_superuser   boolean NOT NULL DEFAULT false,
    fingerprint    text,
    signup_ip      inet,
    blocked_at     timestamptz,
    blocked_reason text,
    created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX account_username ON account (lower(username));
CREATE UNIQUE INDEX account_email ON account (lower(email));
CREATE INDEX account_fingerprint ON account (fingerprint) WHERE fingerprint IS NOT NULL;
