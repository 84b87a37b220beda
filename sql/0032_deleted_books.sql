-- What goes with a chapter or a book is found by an index. Without one, every suggestion of all books was read for each
-- chapter that went: two million of them held up the deletion of a book of ten chapters for two seconds.
CREATE INDEX suggestion_of_chapter ON suggestion (chapter_id);
DROP INDEX suggestion_pending;
CREATE INDEX report_of_book ON report (book_id);
