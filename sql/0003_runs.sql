-- Processes, runs and their steps.
CREATE TABLE process (
    boot_id     uuid PRIMARY KEY,
    host        text NOT NULL,          -- machine, its boot and its pid namespace: where `pid` means something
    pid         integer NOT NULL,
    pid_started text NOT NULL,
    probation   uuid,                   -- the one suspected run it is trying
    started_at  timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz NOT NULL
);

-- Locked FOR UPDATE to put accept, promote and hold of one account in one order.
CREATE TABLE account_slot (
    account_id bigint PRIMARY KEY REFERENCES account ON DELETE CASCADE
);

CREATE SEQUENCE run_queue;

CREATE TABLE run (
    id              uuid PRIMARY KEY,
    book_id         bigint NOT NULL REFERENCES book ON DELETE CASCADE,
    account_id      bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    status          text NOT NULL CHECK (status IN ('queued', 'running', 'paused', 'stopped', 'completed', 'error')),
    mode            text NOT NULL CHECK (mode IN ('full', 'continue', 'automated')),
    total           integer NOT NULL,
    done            integer NOT NULL DEFAULT 0,   -- chapters that need no writing any more
    written         integer NOT NULL DEFAULT 0,   -- chapters that this run wrote
    call_no         integer NOT NULL DEFAULT 0,   -- with `epoch`, the fence of every chapter
    call_started_at timestamptz,                  -- set while a chapter is being written
    current_chapter integer,
    words_written   integer NOT NULL DEFAULT 0,
    writing_seconds double precision NOT NULL DEFAULT 0,
    epoch           bigint NOT NULL DEFAULT 0,
    owner           uuid,
    crash_count     integer NOT NULL DEFAULT 0,
    queue_seq       bigint NOT NULL DEFAULT nextval('run_queue'),
    failure         jsonb,
    last_op         uuid,                         -- tells whether a commit whose answer was lost had landed
    started_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    finished_at     timestamptz
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX run_one_active_per_book ON run (book_id) WHERE status IN ('queued', 'running', 'paused');
CREATE UNIQUE INDEX run_one_running_per_account ON run (account_id) WHERE status = 'running';
CREATE INDEX run_fifo ON run (account_id, queue_seq) WHERE status = 'queued';
CREATE INDEX run_newest_of_book ON run (book_id, queue_seq DESC);

-- A full run over a finished book replaces each text only when the new one is there; until then this names the run.
ALTER TABLE chapter ADD COLUMN rewrite_run uuid;

-- Model work outside a run (outline, rework, rewrite): keeps a run from starting beside it in any process.
CREATE TABLE book_job (
    book_id    bigint PRIMARY KEY REFERENCES book ON DELETE CASCADE,
    owner      uuid NOT NULL,
    kind       text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now()
);

-- One stored model call of a run, by the hash of its input: a restart replays it and pays for nothing twice.
CREATE TABLE step (
    book_id        bigint NOT NULL REFERENCES book ON DELETE CASCADE,
    key            text NOT NULL,
    run_id         uuid,
    stage          text NOT NULL,
    chapter_number integer,
    reply          jsonb NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (book_id, key)
);
CREATE INDEX step_run ON step (run_id) WHERE run_id IS NOT NULL;
