-- A smaller plan begins when the paid period ends. Until then the payment processor has it scheduled; these columns show it.
ALTER TABLE subscription
    ADD COLUMN next_plan_id bigint REFERENCES plan ON DELETE SET NULL,
    ADD COLUMN next_interval text CHECK (next_interval IN ('monthly', 'yearly'));
