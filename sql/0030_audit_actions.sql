-- How often something was done with an account within the last hour: its owner is told of it so often and no more.
CREATE INDEX audit_action ON audit (account_id, action, created_at);
