-- Which secret this database belongs to, and the keys that have replaced it for signing tokens.
-- `fingerprint` is a hash. It is compared at each start, so that no two hosts sign with different secrets.
CREATE TABLE server_secret (
    singleton   boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    fingerprint text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- Each key is encrypted with the secret, so that a copy of the database signs no tokens.
CREATE TABLE signing_key (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sealed     bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
