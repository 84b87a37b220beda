"""Triggers in the simulated database that record each change of a run as it happens."""

from __future__ import annotations

WITHOUT_LEASE = "it was taken by a process that has no lease"
BY_FORMER_OWNER = "a process has written or begun a chapter of it that had lost it"
# `breach`: a forbidden change of a run, as a sentence. `charge`: a run charged with the crash of a process.
RECORDER = f"""
    CREATE SCHEMA seen;
    CREATE TABLE seen.breach (what text, book_id bigint);
    CREATE TABLE seen.charge (book_id bigint, pid integer);

    CREATE FUNCTION seen.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.crash_count > OLD.crash_count AND OLD.status = 'running' THEN
            INSERT INTO seen.charge SELECT NEW.book_id, pid FROM process WHERE boot_id = OLD.owner;
        END IF;
        IF NEW.call_no > OLD.call_no AND (SELECT pid FROM process WHERE boot_id = NEW.owner)::text
                                         <> current_setting('sim.pid', true) THEN
            INSERT INTO seen.breach VALUES ('{BY_FORMER_OWNER}',
                                            NEW.book_id);
        END IF;
        IF NEW.written > OLD.written AND OLD.status IN ('stopped', 'completed', 'error') THEN
            INSERT INTO seen.breach VALUES ('a chapter of it was written after its end', NEW.book_id);
        END IF;
        IF NEW.written > OLD.written AND NEW.crash_count > 0 THEN
            INSERT INTO seen.breach VALUES ('deaths of its processes still count after its progress', NEW.book_id);
        END IF;
        IF NEW.owner <> OLD.owner AND NEW.epoch = OLD.epoch THEN
            INSERT INTO seen.breach VALUES ('another process has it under the same epoch', NEW.book_id);
        END IF;
        IF OLD.status = 'paused' AND NEW.status IN ('queued', 'running') AND NEW.queue_seq = OLD.queue_seq THEN
            INSERT INTO seen.breach VALUES ('it has kept its place in the queue over a pause', NEW.book_id);
        END IF;
        IF OLD.status = 'queued' AND NEW.status = 'running' AND EXISTS (
            SELECT FROM run r
             WHERE r.account_id = NEW.account_id AND r.status = 'queued' AND r.queue_seq < NEW.queue_seq
        ) THEN
            INSERT INTO seen.breach VALUES ('it was started before one that was accepted earlier', NEW.book_id);
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER note AFTER UPDATE ON run FOR EACH ROW EXECUTE FUNCTION seen.note();

    CREATE FUNCTION seen.note_owner() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.owner IS DISTINCT FROM OLD.owner AND NEW.owner IS NOT NULL
           AND NOT EXISTS (SELECT FROM process WHERE boot_id = NEW.owner) THEN
            INSERT INTO seen.breach VALUES ('{WITHOUT_LEASE}', NEW.book_id);
        END IF;
        IF NEW.owner IS DISTINCT FROM OLD.owner AND OLD.status = 'running' AND (
            SELECT count(*) FILTER (WHERE r.owner = NEW.owner) > 1 + ceil(count(*) / greatest(1, (
                SELECT count(*) FROM process WHERE lease_until > now() AND NOT draining))::numeric)
              FROM run r WHERE r.status = 'running'
        ) THEN
            INSERT INTO seen.breach VALUES ('it was taken by a process that had its share', NEW.book_id);
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER note_owner AFTER INSERT OR UPDATE ON run FOR EACH ROW EXECUTE FUNCTION seen.note_owner();
"""
FORGET = "TRUNCATE seen.breach, seen.charge"
BREACHES = "SELECT what, book_id FROM seen.breach"
CHARGED = "SELECT book_id, pid FROM seen.charge"
