-- What a chapter's plan says beside its title and summary: scenes, what it sets up and pays off, its last image; in
-- non-fiction its question, steps, examples and outcome. All of it is optional.
ALTER TABLE chapter ADD COLUMN plan jsonb NOT NULL DEFAULT '{}';
