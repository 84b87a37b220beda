-- A book's date is set with every save and every chapter. With no index on it a book's new version takes the place of the
-- former one on its page, and writes to no index; the books of one account are few enough to be sorted when they are read.
CREATE INDEX book_of_account ON book (account_id);
DROP INDEX book_recent;
ALTER TABLE book SET (fillfactor = 70);
