-- What the calls of each model used, up to the call `last_id`. The staff overview adds the newer calls, so that it does not
-- read the whole ledger. Only calls that are a day old are summed here: no call before them is still being entered.
CREATE TABLE past_usage (
    model              text PRIMARY KEY,
    calls              bigint NOT NULL,
    input_tokens       bigint NOT NULL,
    output_tokens      bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    cache_read_tokens  bigint NOT NULL,
    images             bigint NOT NULL,
    cost_micros        bigint NOT NULL,
    unknown_price      boolean NOT NULL
);

-- Always one row.
CREATE TABLE past_usage_end (last_id bigint NOT NULL);
INSERT INTO past_usage_end VALUES (0);
