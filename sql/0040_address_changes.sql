-- A change of address completes once it is both: proven by the link mailed to the new address, and approved by the
-- account's password or by the link mailed to the old address. Both are reset when another change is asked for.
ALTER TABLE account
    ADD COLUMN pending_proven boolean NOT NULL DEFAULT false,
    ADD COLUMN pending_approved boolean NOT NULL DEFAULT false;
-- A change asked for before this migration was approved by a token alone.
UPDATE account SET pending_email = NULL WHERE pending_email IS NOT NULL;

ALTER TABLE link DROP CONSTRAINT link_purpose_check;
ALTER TABLE link ADD CONSTRAINT link_purpose_check
    CHECK (purpose IN ('verify-email', 'reset-password', 'magic-login', 'undo-email', 'approve-email'));
ALTER TABLE mail DROP CONSTRAINT mail_purpose_check;
ALTER TABLE mail ADD CONSTRAINT mail_purpose_check CHECK (purpose IN (
    'verify-email', 'reset-password', 'magic-login', 'undo-email', 'approve-email', 'receipt', 'password-changed',
    'google-linked', 'new-sign-in'));
