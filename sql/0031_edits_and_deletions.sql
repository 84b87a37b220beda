-- What goes with a chapter or a book is found by an index. Without one, every suggestion of all books was read for each
-- chapter that went: two million of them held up the deletion of a book of ten chapters for two seconds.
CREATE INDEX suggestion_of_chapter ON suggestion (chapter_id);
DROP INDEX suggestion_pending;
CREATE INDEX report_of_book ON report (book_id);

-- The columns come last: they lock their tables for as long as the indexes would take to build.

-- Chapters of which a model read nothing or not all, and whether because it refused: `chapter_number`, `refused`, `whole`.
ALTER TABLE report ADD COLUMN unread jsonb NOT NULL DEFAULT '[]';
-- How many words the account had written this period, by AI edits, in books that nothing had paid for.
ALTER TABLE usage_period ADD COLUMN unpaid_words integer NOT NULL DEFAULT 0 CHECK (unpaid_words >= 0);
-- How much model work outside runs failed this period although calls of it were paid for.
ALTER TABLE usage_period ADD COLUMN failed_jobs integer NOT NULL DEFAULT 0 CHECK (failed_jobs >= 0);
