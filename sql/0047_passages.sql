-- An author may have one passage rewritten. The new text is a suggestion in a report of its own kind.
ALTER TABLE report
    DROP CONSTRAINT report_kind_check,
    ADD CONSTRAINT report_kind_check CHECK (kind IN ('proofreading', 'review', 'passage')) NOT VALID;
