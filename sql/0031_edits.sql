-- How many words the account had written this period, by AI edits, in books that nothing had paid for.
ALTER TABLE usage_period ADD COLUMN unpaid_words integer NOT NULL DEFAULT 0 CHECK (unpaid_words >= 0);
-- How much model work outside runs failed this period although calls of it were paid for.
ALTER TABLE usage_period ADD COLUMN failed_jobs integer NOT NULL DEFAULT 0 CHECK (failed_jobs >= 0);
