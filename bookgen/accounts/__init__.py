"""User accounts: registration, sign-in, tokens and passwords, profiles, e-mails, and the deletion of accounts."""
