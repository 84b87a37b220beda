-- A letter for a sign-in from a place that an account was not signed in from before.
ALTER TABLE mail DROP CONSTRAINT mail_purpose_check;
ALTER TABLE mail ADD CONSTRAINT mail_purpose_check CHECK (purpose IN (
    'verify-email', 'reset-password', 'magic-login', 'undo-email', 'receipt', 'password-changed', 'google-linked',
    'new-sign-in'));

-- How many outlines and reworks the account was given this period beside its AI edits: they have a bound of their own.
ALTER TABLE usage_period ADD COLUMN free_outlines integer NOT NULL DEFAULT 0 CHECK (free_outlines >= 0);
