-- Letters that tell an account's owner what was changed.
ALTER TABLE mail DROP CONSTRAINT mail_purpose_check;
ALTER TABLE mail ADD CONSTRAINT mail_purpose_check CHECK (purpose IN (
    'verify-email', 'reset-password', 'magic-login', 'undo-email', 'receipt', 'password-changed', 'google-linked'));
