-- Accounts, where they came from, bans, mailed one-time links and letters to send.
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
    fingerprint    text,            -- the browser it was registered from, hashed
    blocked_at     timestamptz,
    blocked_reason text,
    created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX account_username ON account (lower(username));
CREATE UNIQUE INDEX account_email ON account (lower(email));
CREATE INDEX account_fingerprint ON account (fingerprint) WHERE fingerprint IS NOT NULL;
CREATE INDEX account_blocked ON account (blocked_at) WHERE blocked_at IS NOT NULL;

-- The browsers and addresses an account registered and signed in from: what a ban of it covers.
CREATE TABLE account_origin (
    account_id bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    kind       text NOT NULL CHECK (kind IN ('fingerprint', 'address')),
    value      text NOT NULL,
    seen_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, kind, value)
);

-- `value` is a hashed browser fingerprint or a network in CIDR notation (an IPv6 caller is its /64).
CREATE TABLE ban (
    kind       text NOT NULL CHECK (kind IN ('fingerprint', 'address')),
    value      text NOT NULL,
    account_id bigint REFERENCES account ON DELETE SET NULL,
    reason     text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, value)
);

-- One-time links. Only the hash of the token is here; a link is good for the address it was mailed to.
CREATE TABLE link (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    purpose    text NOT NULL CHECK (purpose IN ('verify-email', 'reset-password', 'magic-login')),
    email      text NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX link_account ON link (account_id, purpose);
CREATE INDEX link_expiry ON link (expires_at);

-- Letters waiting to be sent. A row names the letter, never its link: the token is made when it goes out,
-- and a row for an address that nobody has looks like any other until then.
CREATE TABLE mail (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    purpose    text NOT NULL CHECK (purpose IN ('verify-email', 'reset-password', 'magic-login')),
    email      text NOT NULL,
    attempts   integer NOT NULL DEFAULT 0,
    due_at     timestamptz NOT NULL DEFAULT now(),
    last_error text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX mail_due ON mail (due_at);
